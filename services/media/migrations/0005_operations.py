"""Which operation attached a file: its earlier try, whose post was never stored, does not keep the file.

The release before this one attaches on beside it, and leaves such files to the clean-up.
"""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("ALTER TABLE attachments ADD COLUMN operation_id text")
    op.execute("CREATE INDEX attachments_of_operation ON attachments (operation_id) WHERE NOT confirmed")
