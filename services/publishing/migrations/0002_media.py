"""What posts hold of media's files. Both columns have defaults: the release before this one writes on beside it."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN media_files jsonb")
    op.execute("ALTER TABLE posts ADD COLUMN media_revision bigint NOT NULL DEFAULT 0")
