"""A reply that is looked up, and a comment that is read after its platform told of it, go on with their traces."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table in ("replies", "comments"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN traceparent text")
