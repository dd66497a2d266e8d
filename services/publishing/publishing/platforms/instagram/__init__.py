"""Instagram over the Graph API (docs/platforms.md, section 3): `connector` publishes, `reading` reads comments and
counts."""
