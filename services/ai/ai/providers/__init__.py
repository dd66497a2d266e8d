"""The AI providers, each behind the one interface of `base.py`."""
