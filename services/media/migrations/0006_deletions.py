"""Adds the operation that deleted a file, so that a repeated request is answered as before and not refused."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE deletions (
            operation_id text PRIMARY KEY,
            account_id text NOT NULL,
            media_id text NOT NULL,
            deleted_at timestamptz NOT NULL
        )
        """
    )
    op.execute("CREATE INDEX deletions_old ON deletions (deleted_at)")
