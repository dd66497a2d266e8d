"""`./dev demo`: the main journey."""
