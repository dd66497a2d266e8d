"""Adds a row per operation. After a refused try, an earlier try that still runs creates no subscription."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    create_operations(op)
