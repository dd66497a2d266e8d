"""Adds when the platform refused a failed post. The previous release neither reads nor writes it."""

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN refused_at timestamptz")
