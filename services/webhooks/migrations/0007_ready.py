"""Marks deliveries that are due, so that they are found without those that wait for a retry (0010 has the index).

Deliveries that the previous release writes are not marked when they are written. They are marked when they are due.
"""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute("ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS ready boolean NOT NULL DEFAULT false")
