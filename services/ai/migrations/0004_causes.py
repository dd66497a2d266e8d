"""Adds traceparents to jobs and refills: a job's steps and an account's refills continue the trace of their request."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    for table in ("jobs", "auto_refills", "refills"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN traceparent text")
