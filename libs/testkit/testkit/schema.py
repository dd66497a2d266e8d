"""Compares the tables that a service's migrations make with those that its models describe."""

from collections.abc import Collection
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData

from chassis.db.database import Database
from chassis.db.schema import metadata as chassis_metadata

#: Service → tables, and columns as `table.column`, that only 1.4.0 still names. No code of the release after it does,
#: so a migration of the next one drops them and their lines here (CONTRIBUTING.md, "Rules").
TO_DROP = {
    "accounts": ("verification_mails", "password_resets.attempts", "password_resets.next_attempt_at"),
    "media": ("media.jpeg_size_bytes",),
    "publishing": ("pages.unlink_operation_id", "posts.last_operation_id"),
    "quota": ("unit_charges.units",),
    "webhooks": ("lanes.outcome_number", "subscriptions.revision"),
}
#: Made by chassis, not by a service's models.
_OF_CHASSIS = {*chassis_metadata.tables, "clock_shift", "alembic_version"}


def differences(
    database: Database, service: str, models: MetaData, foreign: Collection[str] = ()
) -> list[Any]:
    """Returns the differences between the migrated database of `service` and its models.

    Leaves out the tables named in `foreign`, and the tables and columns in TO_DROP, which the next release drops.
    """
    left_out = {*_OF_CHASSIS, *foreign, *TO_DROP.get(service, ())}

    def is_compared(name: str | None, kind: str, parents: Any) -> bool:
        return (name if kind == "table" else f"{parents.get('table_name')}.{name}") not in left_out

    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": is_compared})
        return list(compare_metadata(context, models))
