"""A token made by rotation knows the token that the rotations began with.

Beside the release before this one, which writes null: a token that it rotates begins anew.
"""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE tokens ADD COLUMN first_token_id text")
