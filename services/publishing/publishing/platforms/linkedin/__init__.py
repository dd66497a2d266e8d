"""LinkedIn over its versioned REST API (platforms.md 4): `connector` publishes, `reading` reads comments and counts."""
