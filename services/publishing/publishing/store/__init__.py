"""All SQL of the service, one file for each subject. Each class runs statements over an open connection."""

from sqlalchemy import Connection

__all__ = ["Connection"]
