"""All SQL of the media service, a file a noun. Stores are concrete classes over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
