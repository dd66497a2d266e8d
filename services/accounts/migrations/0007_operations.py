"""Adds operations, by which a repeated call that sets a value finds that an earlier try has set it."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    create_operations(op)
