"""AI providers, behind the interface in `base.py`."""
