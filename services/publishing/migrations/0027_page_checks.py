"""Adds the result of a page's last check. The previous release neither reads nor writes it."""

from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.execute("ALTER TABLE pages ADD COLUMN checked_at timestamptz")
    op.execute("ALTER TABLE pages ADD COLUMN missing_permissions text[]")
    op.execute("ALTER TABLE pages ADD COLUMN token_expires_at timestamptz")
