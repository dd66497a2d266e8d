"""Adds until when each person has read the comments of a brand. Release 1.4.0 does not know the table."""

from alembic import op

revision = "0033"
down_revision = "0032"

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
