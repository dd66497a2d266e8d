"""Adds the traceparent to the outbox, so that receivers of events continue the trace."""

from alembic import op

from chassis.db.schema import trace_outbox

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    trace_outbox(op)
