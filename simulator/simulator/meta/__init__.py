"""Meta's Graph API v26.0 for Facebook Pages and Instagram professional accounts (platforms.md 1 to 3)."""

from simulator.meta.routes import hosts

__all__ = ["hosts"]
