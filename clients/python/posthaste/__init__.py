"""Client library of the Posthaste API. So far: `posthaste.webhooks`, which verifies deliveries."""

__version__ = "1.0.0b1"
