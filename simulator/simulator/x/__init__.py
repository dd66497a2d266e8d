"""The X API v2: posts, replies, media, search and the account itself (platforms.md 6)."""

from simulator.x.routes import hosts

__all__ = ["hosts"]
