"""Posts whose platform names them only later: what to ask for, and when.

A new table alone: the release before this one knows nothing of it, and its posts keep the id they have.
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
