"""Creates the table of idempotency keys."""

import sqlalchemy as sa
from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_chassis_schema(op)
    op.create_table(
        "idempotency_keys",
        sa.Column("token_id", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("operation_id", sa.String, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("locked_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", sa.LargeBinary),
        sa.Column("body", sa.LargeBinary),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("idempotency_keys_created_at", "idempotency_keys", ["created_at"])
