"""Payment providers for packs of credits and auto-refill, behind the interface in `base.py`."""
