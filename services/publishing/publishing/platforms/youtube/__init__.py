"""YouTube channels over the Data API v3 (docs/platforms.md, section 7): videos only, uploaded in sessions that can be
resumed."""
