"""Adds to a delivery that its unit was charged although it was never tried. A replay may come long after quota has
forgotten the charge.
"""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE deliveries ADD COLUMN charged boolean")
