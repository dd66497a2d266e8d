"""Deliveries whose time has come are marked, so that they are found without those that wait for a retry (0010).

Where rows that the release before this one wrote are not marked ready, they are marked once they are due.
"""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute("ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS ready boolean NOT NULL DEFAULT false")
