"""LinkedIn over its versioned REST API (docs/platforms.md, section 4): `connector` publishes, `reading` reads comments
and counts."""
