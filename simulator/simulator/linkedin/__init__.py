"""LinkedIn's versioned REST API: posts, files, comments, pages (platforms.md 4)."""

from simulator.linkedin.routes import hosts

__all__ = ["hosts"]
