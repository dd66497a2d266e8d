"""Facebook Pages over the Graph API (platforms.md 2): `connector` publishes, `reading` reads comments and counts."""
