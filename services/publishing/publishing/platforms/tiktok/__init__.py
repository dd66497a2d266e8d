"""TikTok over its Content Posting API v2 (platforms.md 5): `connector` publishes, `reading` reads counts."""
