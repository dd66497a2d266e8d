"""Reads and writes the rows of `invites`."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, select
from sqlalchemy.dialects.postgresql import insert

from accounts.models import invites
from chassis.db.clock import clock_now
from contracts.record import Record


class InviteRow(Record):
    email: str
    id: str
    expires_at: datetime


_COLUMNS = [invites.c[field] for field in InviteRow.__struct_fields__]
_LIVE = invites.c.expires_at > clock_now()


class InviteStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def put(self, *, email: str, id: str, days: int, operation_id: str | None) -> InviteRow | None:  # noqa: A002
        """Stores and returns a new invite of an address, in place of an earlier one. If the earlier invite was made by
        the same operation and has not expired, keeps it and returns None.
        """
        new = {"id": id, "expires_at": clock_now() + timedelta(days=days), "operation_id": operation_id}
        statement = (
            insert(invites)
            .values(email=email, **new)
            .on_conflict_do_update(
                index_elements=[invites.c.email],
                set_=new,
                where=invites.c.operation_id.is_distinct_from(operation_id) | ~_LIVE,
            )
        )
        return self._one(statement.returning(*_COLUMNS))

    def find(self, email: str) -> InviteRow | None:
        """Returns the unexpired invite of an address, or None."""
        return self._one(select(*_COLUMNS).where(invites.c.email == email, _LIVE))

    def use(self, email: str, invite_id: str) -> bool:
        """Deletes the invite. Returns False if it was used or replaced before, or has expired."""
        statement = delete(invites).where(invites.c.email == email, invites.c.id == invite_id, _LIVE)
        return self.connection.execute(statement).rowcount > 0

    def delete_expired(self) -> int:
        return self.connection.execute(delete(invites).where(~_LIVE)).rowcount

    def _one(self, statement: Executable) -> InviteRow | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else InviteRow(**row._mapping)
