"""Starts, watches and stops the processes of a table."""
