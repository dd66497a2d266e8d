"""Adds the operation id of a write to the request log: it leads to the objects that the write created. The previous
release stores none.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("request_log", sa.Column("operation_id", sa.String))
