"""A service that exists to test chassis."""
