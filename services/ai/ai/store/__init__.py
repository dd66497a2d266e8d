"""All SQL of the AI service, by noun. Stores are concrete classes over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
