"""Reads and writes the rows of `password_resets`: reset links."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from accounts.models import password_resets
from chassis.db.clock import clock_now
from contracts.record import Record

#: decisions "Sessions": a person reads such a mail at once.
VALID_FOR = timedelta(hours=1)


class ResetRow(Record):
    email: str
    id: str
    expires_at: datetime


_COLUMNS = [password_resets.c[field] for field in ResetRow.__struct_fields__]
_LIVE = password_resets.c.expires_at > clock_now()


class PasswordResetStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def put(self, *, email: str, id: str) -> ResetRow:  # noqa: A002
        """Stores a new reset link for an address; an earlier one becomes invalid."""
        new = {"id": id, "expires_at": func.date_trunc("milliseconds", clock_now() + VALID_FOR)}
        statement = insert(password_resets).values(email=email, **new)
        statement = statement.on_conflict_do_update(index_elements=[password_resets.c.email], set_=new)
        row = self._one(statement.returning(*_COLUMNS))
        assert row is not None
        return row

    def find(self, reset_id: str) -> ResetRow | None:
        """Returns a reset link that has not expired, or None."""
        return self._one(select(*_COLUMNS).where(password_resets.c.id == reset_id, _LIVE))

    def use(self, reset_id: str) -> ResetRow | None:
        """Deletes a reset link and returns it. Returns None if it was used or replaced before, or has expired."""
        statement = delete(password_resets).where(password_resets.c.id == reset_id, _LIVE)
        return self._one(statement.returning(*_COLUMNS))

    def delete_of(self, email: str) -> None:
        """Makes the reset link of an address invalid."""
        self.connection.execute(delete(password_resets).where(password_resets.c.email == email))

    def delete_expired(self) -> int:
        return self.connection.execute(delete(password_resets).where(~_LIVE)).rowcount

    def _one(self, statement: Executable) -> ResetRow | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else ResetRow(**row._mapping)
