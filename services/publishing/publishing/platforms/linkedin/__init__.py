"""LinkedIn over its versioned REST API (platforms.md 4): publishing in `connector`, the rest in `reading`."""
