"""API tokens: issued, rotated, revoked and checked."""
