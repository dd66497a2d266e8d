"""Adds to a token the first token of its chain of rotations.

The previous release writes null for a token that it rotates: a new chain begins with that token.
"""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE tokens ADD COLUMN first_token_id text")
