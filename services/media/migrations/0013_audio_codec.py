"""Adds the codec of a video's sound, which most platforms restrict."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.execute("ALTER TABLE media ADD COLUMN audio_codec text")
