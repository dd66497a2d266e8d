"""Instagram over the Graph API (platforms.md 3): `connector` publishes, `reading` reads comments and counts."""
