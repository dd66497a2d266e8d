"""Simulates LinkedIn's versioned REST API: posts, files, comments and company pages (docs/platforms.md, section 4)."""

from simulator.linkedin.routes import hosts

__all__ = ["hosts"]
