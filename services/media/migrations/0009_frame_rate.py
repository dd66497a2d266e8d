"""Adds the frame rate of videos, which TikTok limits."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute("ALTER TABLE media ADD COLUMN frame_rate double precision")
