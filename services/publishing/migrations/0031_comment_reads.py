"""Adds until when each person has read the comments of a brand. The previous release does not know the table."""

from alembic import op

revision = "0031"
down_revision = "0029"

CHANGES = """
CREATE TABLE comment_reads (
    user_id text NOT NULL,
    brand_id text NOT NULL,
    read_until timestamptz NOT NULL,
    PRIMARY KEY (user_id, brand_id)
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
