"""The service behind floor F1, which returns its request."""
