"""The client of the object storage."""
