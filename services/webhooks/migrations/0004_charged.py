"""A delivery that has its unit and was never tried says so: quota forgets that long before a replay may come."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE deliveries ADD COLUMN charged boolean")
