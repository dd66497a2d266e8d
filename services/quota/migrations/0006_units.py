"""Drops the column `refunded` of unit_charges, which 1.4.0 does not use. Gives `units` a default: only 1.4.0 writes it.

The release after this one drops `units` (`testkit.schema`).
"""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE unit_charges DROP COLUMN refunded, ALTER COLUMN units SET DEFAULT 0")
