"""All SQL of the service media. Each class runs statements over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
