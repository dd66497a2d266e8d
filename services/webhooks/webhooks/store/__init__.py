"""All SQL of the webhooks service, a file a noun. Stores are concrete classes over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
