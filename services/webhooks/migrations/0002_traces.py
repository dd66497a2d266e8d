"""Adds the traceparent to the outbox and to events, so that receivers of events and deliveries continue the trace."""

from alembic import op

from chassis.db.schema import trace_outbox

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    trace_outbox(op)
    op.execute("ALTER TABLE events ADD COLUMN traceparent text")
