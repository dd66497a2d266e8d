"""Adds the traceparent to replies and comments, so that their look-ups continue the trace."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table in ("replies", "comments"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN traceparent text")
