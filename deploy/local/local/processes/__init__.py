"""Starts, watches and stops processes by a table."""
