"""X over its API v2 (platforms.md 6): publishing in `connector`, comments and counts in `reading`."""
