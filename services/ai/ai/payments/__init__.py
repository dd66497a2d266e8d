"""Payment providers for credit packs and auto-refill, each behind the one interface of `base.py`."""
