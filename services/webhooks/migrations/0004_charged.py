"""Adds to deliveries whether their unit was charged although they were never tried. A replay may come long after the
quota service has forgotten the charge.
"""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE deliveries ADD COLUMN charged boolean")
