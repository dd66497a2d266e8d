"""Adds the time until which the client of a publish at once waits. It decides whether the answer or an event reports
the outcome.
"""

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN awaited_until timestamptz")
