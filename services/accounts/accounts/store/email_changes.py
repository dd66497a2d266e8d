"""Reads and writes the rows of `email_changes`: changes of address that wait for confirmation."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from accounts.models import email_changes
from chassis.db.clock import clock_now
from contracts.record import Record


class EmailChangeRow(Record):
    id: str
    user_id: str
    email: str
    expires_at: datetime


_COLUMNS = [email_changes.c[field] for field in EmailChangeRow.__struct_fields__]
_LIVE = email_changes.c.expires_at > clock_now()


class EmailChangeStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def put(self, *, change_id: str, user_id: str, email: str, days: int) -> EmailChangeRow:
        """Stores the change that an account requests, in place of an earlier one, whose link becomes invalid."""
        expires_at = func.date_trunc("milliseconds", clock_now() + timedelta(days=days))
        new = {"id": change_id, "email": email, "expires_at": expires_at}
        statement = insert(email_changes).values(user_id=user_id, **new)
        statement = statement.on_conflict_do_update(index_elements=[email_changes.c.user_id], set_=new)
        row = self._one(statement.returning(*_COLUMNS))
        assert row is not None
        return row

    def find(self, change_id: str) -> EmailChangeRow | None:
        """Returns a requested change that has not expired, or None."""
        return self._one(select(*_COLUMNS).where(email_changes.c.id == change_id, _LIVE))

    def find_of(self, user_id: str) -> EmailChangeRow | None:
        """Returns the change that an account has requested, also an expired one; None if it has requested none."""
        return self._one(select(*_COLUMNS).where(email_changes.c.user_id == user_id))

    def waiting_of(self, user_id: str) -> EmailChangeRow | None:
        """Returns the change that an account has requested, if it has not expired."""
        return self._one(select(*_COLUMNS).where(email_changes.c.user_id == user_id, _LIVE))

    def delete_of(self, user_id: str) -> EmailChangeRow | None:
        """Deletes and returns the change that an account has requested, if there is one. Its link becomes invalid."""
        statement = delete(email_changes).where(email_changes.c.user_id == user_id)
        return self._one(statement.returning(*_COLUMNS))

    def use(self, change_id: str) -> EmailChangeRow | None:
        """Deletes a requested change and returns it. Returns None if it was used or replaced before, or has expired."""
        statement = delete(email_changes).where(email_changes.c.id == change_id, _LIVE)
        return self._one(statement.returning(*_COLUMNS))

    def delete_expired(self) -> int:
        return self.connection.execute(delete(email_changes).where(~_LIVE)).rowcount

    def _one(self, statement: Executable) -> EmailChangeRow | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else EmailChangeRow(**row._mapping)
