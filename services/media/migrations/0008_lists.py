"""Indexes media by brand restriction, so that a restricted token's list does not read all files of the account."""

revision = "0008"
down_revision = "0007"

INDEXES = {
    "media_newest_restricted": "media (account_id, brand_ids, created_at DESC, id DESC) WHERE brand_ids <> '{}'"
}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
