"""Adds the names of brands. The previous release neither reads nor writes them: a page that it links while a rename
arrives keeps the name with which its linking began.
"""

from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.execute(
        "CREATE TABLE brand_names (brand_id text PRIMARY KEY, name text NOT NULL, renamed_at timestamptz)"
    )
