"""Facebook Pages over the Graph API (docs/platforms.md, section 2): `connector` publishes, `reading` reads comments and
counts."""
