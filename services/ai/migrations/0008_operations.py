"""A row for each operation: once a try was refused, an earlier one that still runs begins no job and is not charged."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    create_operations(op)
