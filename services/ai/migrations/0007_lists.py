"""Jobs of one kind, or of a restricted token, are listed without reading all of the account's.

`jobs_of_kind` takes the place of `jobs_of_account`, so that writing costs the same. The release before this one sorts
what it finds by it.
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
    """The indexes are all."""
