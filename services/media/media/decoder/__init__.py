"""Code that reads strangers' files. It runs in sandboxed processes only (`functions.py` lists its functions)."""
