"""Payment providers for packs and auto-refill, behind the interface in `base.py`."""
