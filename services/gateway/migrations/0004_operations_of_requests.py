"""A write in the request log has its operation id, which leads to what it made. The release before writes none."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("request_log", sa.Column("operation_id", sa.String))
