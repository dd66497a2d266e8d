"""Indexes counters by their month, to find those that are no longer used."""

revision = "0004"
down_revision = "0003"

INDEXES = {"counters_idle": "counters (year_month) WHERE lifetime = 0"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
