"""A service whose only purpose is to test chassis."""
