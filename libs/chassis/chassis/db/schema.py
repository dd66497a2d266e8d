"""The tables and functions every service's database has: clock, outbox, inbox.

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

#: Events staged with the change they tell of; the relay publishes and deletes them.
outbox = Table(
    "outbox",
    metadata,
    Column("position", BigInteger, Identity(), primary_key=True),
    Column("event_id", String, nullable=False),
    Column("event", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    #: W3C's, of what staged it; null where nothing was traced.
    Column("traceparent", String),
)

#: Events received, recorded in the transaction of their effect: an event that comes twice has one effect.
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
    # Whole milliseconds, as every timestamp of the API. STABLE lets `due_at <= clock_now()` use an index.
    """
    CREATE FUNCTION clock_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
        SELECT date_trunc('milliseconds', clock_timestamp() + (SELECT shift FROM clock_shift))
    $$
    """,
)


def create_chassis_schema(op: Any) -> None:
    """Creates them; `op` is Alembic's operations object."""
    for statement in _CLOCK:
        op.execute(statement)
    metadata.create_all(op.get_bind())


def trace_outbox(op: Any) -> None:
    """A step of a database that is older than the column; a newer one has it already."""
    op.execute("ALTER TABLE outbox ADD COLUMN IF NOT EXISTS traceparent text")
