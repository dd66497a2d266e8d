"""A service that returns its request. The floor F1 is a call of it through chassis."""
