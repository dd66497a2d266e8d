"""Adds a row per operation: after a refused try, an earlier try that still runs begins and charges no job."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    create_operations(op)
