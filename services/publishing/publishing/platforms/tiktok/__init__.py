"""TikTok over its Content Posting API v2 (docs/platforms.md, section 5).

`connector` publishes, `reading` reads counts.
"""
