"""Simulates Meta's Graph API v26.0 for Facebook Pages and Instagram professional accounts (docs/platforms.md, sections
1 to 3).
"""

from simulator.meta.routes import hosts

__all__ = ["hosts"]
