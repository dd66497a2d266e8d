"""Creates the table of the probe's notes."""

from alembic import op

from chassis.db.schema import create_chassis_schema

revision = "0001"
down_revision = None


def upgrade() -> None:
    create_chassis_schema(op)
    op.execute("CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY, text text NOT NULL)")
