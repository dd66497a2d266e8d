"""The tables and functions of every service's database: clock, outbox and inbox.

A service's first migration calls `create_chassis_schema(op)`.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Identity,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    text,
)

metadata = MetaData()

#: Events staged with their change. The relay publishes and deletes them.
outbox = Table(
    "outbox",
    metadata,
    Column("position", BigInteger, Identity(), primary_key=True),
    Column("event_id", String, nullable=False),
    Column("event", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    #: W3C traceparent of the cause; null without a trace.
    Column("traceparent", String),
)

#: Received events, recorded in the transaction of their effect, so that a repeated event has one effect.
inbox = Table(
    "inbox",
    metadata,
    Column("event_id", String, primary_key=True),
    Column("received_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Index("inbox_received_at", "received_at"),
)

_CLOCK = (
    "CREATE TABLE clock_shift (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), shift interval NOT NULL)",
    "INSERT INTO clock_shift (shift) VALUES ('0')",
    # Whole milliseconds, like every timestamp of the API. STABLE lets `due_at <= clock_now()` use an index.
    """
    CREATE FUNCTION clock_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
        SELECT date_trunc('milliseconds', clock_timestamp() + (SELECT shift FROM clock_shift))
    $$
    """,
)


def create_chassis_schema(op: Any) -> None:
    """Creates the tables and functions of every service, in a migration. `op` is Alembic's operations object."""
    for statement in _CLOCK:
        op.execute(statement)
    metadata.create_all(op.get_bind())


def trace_outbox(op: Any) -> None:
    """Adds the outbox's column `traceparent`, in a database that was created without it."""
    op.execute("ALTER TABLE outbox ADD COLUMN IF NOT EXISTS traceparent text")
