"""All SQL of the service, one file for each noun. Stores are concrete classes over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
