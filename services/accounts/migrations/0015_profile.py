"""Adds the time zone and the language that a person chooses. The previous release does not read them."""

from alembic import op

revision = "0015"
down_revision = "0014"

CHANGES = """
ALTER TABLE users ADD COLUMN timezone text, ADD COLUMN language text;
"""


def upgrade() -> None:
    op.execute(CHANGES)
