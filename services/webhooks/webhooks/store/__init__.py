"""All SQL of the webhooks service. Stores are classes over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
