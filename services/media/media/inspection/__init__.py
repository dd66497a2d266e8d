"""Inspects uploaded files and makes renditions, by sandboxed processes that read the bytes (`decoder/`)."""
