"""A picture that is replaced: what its size will be is known before, so that whoever comes after a crash knows it too.

The release before this one writes on beside it, and replaces pictures without a word.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN replaced_bytes bigint")
