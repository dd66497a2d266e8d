"""Reads strangers' files, in sandboxed processes only (`functions.py` has the functions that they run)."""
