"""Indexes jobs by kind and by restricted token, so that lists do not read all jobs of an account.

`jobs_of_kind` replaces `jobs_of_account`, so that writes do not become slower. The previous release uses it too, and
sorts the result.
"""

revision = "0007"
down_revision = "0006"

INDEXES = {
    "jobs_of_kind": "jobs (account_id, kind, created_at DESC, id DESC) WHERE kind <> 'caption'",
    "jobs_of_kind_restricted": "jobs (account_id, token_brand_ids, kind, created_at DESC, id DESC)"
    " WHERE kind <> 'caption' AND token_brand_ids IS NOT NULL",
}
DROPS = ("jobs_of_account",)


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
