"""Adds the posts whose platform gives them an id only later, with the time of the next look-up.

This is a new table. The previous release does not know it, and its posts keep the id that they have.
"""

from alembic import op

revision = "0005"
down_revision = "0004"

NAMES = """
CREATE TABLE names_awaited (
    post_id text PRIMARY KEY REFERENCES posts,
    since timestamptz NOT NULL,
    wake_at timestamptz NOT NULL
);
CREATE INDEX names_awaited_due ON names_awaited (wake_at);
"""


def upgrade() -> None:
    op.execute(NAMES)
