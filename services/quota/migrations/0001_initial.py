"""Creates counters of accounts and sandbox tokens, and the units of the month that operations hold."""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

COUNTERS = """
CREATE TABLE counters (
    subject text PRIMARY KEY,
    minute_at timestamptz NOT NULL DEFAULT 'epoch',
    minute_count integer NOT NULL DEFAULT 0,
    day date NOT NULL DEFAULT '1970-01-01',
    day_count integer NOT NULL DEFAULT 0,
    year_month text NOT NULL DEFAULT '1970-01',
    publishes integer NOT NULL DEFAULT 0,
    replies integer NOT NULL DEFAULT 0,
    reads integer NOT NULL DEFAULT 0,
    webhooks integer NOT NULL DEFAULT 0,
    writes integer NOT NULL DEFAULT 0,
    total integer NOT NULL DEFAULT 0,
    warned integer NOT NULL DEFAULT 0,
    lifetime integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50)  -- a row rewritten a thousand times a second stays where its index entry points
"""
UNIT_CHARGES = """
CREATE TABLE unit_charges (
    operation_id text PRIMARY KEY,
    account_id text NOT NULL,
    year_month text NOT NULL,
    bucket text NOT NULL,
    units integer NOT NULL,
    refunded boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL
)
"""


def upgrade() -> None:
    create_chassis_schema(op)
    op.execute(COUNTERS)
    op.execute(UNIT_CHARGES)
    op.execute("CREATE INDEX unit_charges_created_at ON unit_charges (created_at)")
