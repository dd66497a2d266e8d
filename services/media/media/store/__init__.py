"""All SQL of the media service. A store is a concrete class over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
