"""X over its API v2 (docs/platforms.md, section 6): `connector` publishes, `reading` reads comments and counts."""
