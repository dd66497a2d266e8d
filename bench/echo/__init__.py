"""The service behind floor F1: it answers with what it was asked."""
