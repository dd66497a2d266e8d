"""Until when the client of a publish at once waits: decides whether its answer or an event tells of the outcome."""

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN awaited_until timestamptz")
