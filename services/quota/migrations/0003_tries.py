"""Adds to a charge its try number and the last try whose unit was returned. Creates a table with the position up to
which publishing was asked about charges.

The columns `units` and `refunded` of unit_charges are only for the previous release. The next release drops them.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute(
        "ALTER TABLE unit_charges ADD COLUMN try_number integer NOT NULL DEFAULT 1,"
        " ADD COLUMN returned_to_try integer NOT NULL DEFAULT 0"
    )
    op.execute("CREATE TABLE confirmation (created_at timestamptz NOT NULL, operation_id text NOT NULL)")
    # Charges of the release before are not asked about: it gave their units back by its own rules.
    op.execute("INSERT INTO confirmation VALUES (now(), '')")
