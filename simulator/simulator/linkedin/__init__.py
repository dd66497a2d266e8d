"""LinkedIn's versioned REST API: posts, files, comments, pages (platforms.md 4)."""

from simulator.linkedin.routes import blueprint

__all__ = ["blueprint"]
