"""Adds the files of posts, and their revision. Both columns have defaults, because the previous release still writes
posts.
"""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN media_files jsonb")
    op.execute("ALTER TABLE posts ADD COLUMN media_revision bigint NOT NULL DEFAULT 0")
