"""Creates the request log, and the counts of requests per day."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "request_log",
        sa.Column("account_id", sa.String, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("token_id", sa.String, nullable=False),
        sa.Column("method", sa.String, nullable=False),
        sa.Column("path", sa.String, nullable=False),
        sa.Column("operation", sa.String, nullable=False),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("code", sa.String),
        sa.Column("request_id", sa.String, nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("replayed", sa.Boolean, nullable=False),
    )
    op.create_index("request_log_at", "request_log", ["at"])
    op.create_table(
        "request_days",
        sa.Column("account_id", sa.String, primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        *(
            sa.Column(name, sa.BigInteger, nullable=False)
            for name in ("requests", "reads", "writes", "publishes", "replies", "refused", "failed")
        ),
    )
