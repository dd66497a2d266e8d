"""YouTube channels over the Data API v3 (platforms.md 7): videos only, uploaded in sessions that can be resumed."""
