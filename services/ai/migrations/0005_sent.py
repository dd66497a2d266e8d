"""Adds when an order was last sent: how long to search for it is counted from then."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("ALTER TABLE refills ADD COLUMN sent_at timestamptz")
