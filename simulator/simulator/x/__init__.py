"""Simulates the X API v2: posts, replies, media, search and the caller's own account (docs/platforms.md, section 6)."""

from simulator.x.routes import hosts

__all__ = ["hosts"]
