"""TikTok over its Content Posting API v2 (platforms.md 5): publishing in `connector`, the account in `reading`."""
