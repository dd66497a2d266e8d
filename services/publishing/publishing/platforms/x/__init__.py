"""X over its API v2 (platforms.md 6): `connector` publishes, `reading` reads comments and counts."""
