"""Moves files to and from object storage, and limits how many move at once."""
