"""Adds thumbnails, which a worker loop makes of all files, and the progress of renditions."""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.execute("ALTER TABLE renditions ADD COLUMN progress double precision")
    # The default is evaluated once: no row is rewritten.
    op.execute(
        "ALTER TABLE media ADD COLUMN thumbnail_size_bytes bigint,"
        " ADD COLUMN thumbnail_due_at timestamptz NOT NULL DEFAULT now()"
    )
