"""All SQL of the AI service. A store is a concrete class over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
