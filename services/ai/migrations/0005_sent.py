"""Adds the time at which a refill's order was last sent to the payment provider. It limits how long the service
searches for the payment.
"""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("ALTER TABLE refills ADD COLUMN sent_at timestamptz")
