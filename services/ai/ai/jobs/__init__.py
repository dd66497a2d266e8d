"""Jobs: what clients ask the provider for, and the background work on it."""
