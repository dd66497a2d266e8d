"""The owner of an account archives brands. The release before this one lists them like all others."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute("ALTER TABLE brands ADD COLUMN archived_at timestamptz")
