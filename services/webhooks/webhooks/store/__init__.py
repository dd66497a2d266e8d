"""All SQL of the webhooks service. Each class runs statements over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
