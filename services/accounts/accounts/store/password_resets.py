"""Reads and writes the rows of `password_resets`: reset links, and the queue of their mails for all processes."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, func, select, text, update
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


class DueResetMail(Record):
    id: str
    email: str
    #: Including this one.
    attempts: int
    #: Whether a verified account has the address.
    has_account: bool


_COLUMNS = [password_resets.c[field] for field in ResetRow.__struct_fields__]
_LIVE = password_resets.c.expires_at > clock_now()

#: As for verification mails: the next attempt is scheduled before this one begins.
_CLAIM = text("""
    UPDATE password_resets AS reset
    SET attempts = reset.attempts + 1,
        next_attempt_at = clock_timestamp() + make_interval(secs => least(3600, :first_wait * 2 ^ reset.attempts))
    WHERE email = (
        SELECT email FROM password_resets WHERE next_attempt_at <= clock_timestamp() AND expires_at > clock_now()
        ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING reset.id, reset.email, reset.attempts,
              EXISTS (SELECT FROM users WHERE users.email = reset.email AND users.verified) AS has_account
""")


class PasswordResetStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def put(self, *, email: str, id: str, mailed: bool) -> ResetRow:  # noqa: A002
        """Stores a new reset link for an address; an earlier one becomes invalid. With `mailed`, its mail is queued."""
        due = func.clock_timestamp() if mailed else None
        expires_at = func.date_trunc("milliseconds", clock_now() + VALID_FOR)
        new = {"id": id, "expires_at": expires_at, "attempts": 0, "next_attempt_at": due}
        statement = insert(password_resets).values(email=email, **new)
        statement = statement.on_conflict_do_update(index_elements=[password_resets.c.email], set_=new)
        row = self._one(statement.returning(*_COLUMNS))
        assert row is not None
        return row

    def find(self, reset_id: str) -> ResetRow | None:
        """Returns a reset link that has not expired."""
        return self._one(select(*_COLUMNS).where(password_resets.c.id == reset_id, _LIVE))

    def use(self, reset_id: str) -> ResetRow | None:
        """Deletes a reset link and returns it. Returns None if it was used or replaced before, or has expired."""
        statement = delete(password_resets).where(password_resets.c.id == reset_id, _LIVE)
        return self._one(statement.returning(*_COLUMNS))

    def claim_mail(self, first_wait_seconds: float) -> DueResetMail | None:
        """Claims the mail that has been due for longest. No other process gets it for `first_wait_seconds`."""
        row = self.connection.execute(_CLAIM, {"first_wait": first_wait_seconds}).one_or_none()
        return None if row is None else DueResetMail(**row._mapping)

    def end_mail(self, reset_id: str) -> None:
        """Removes the mail of a reset link from the queue; the link stays valid."""
        statement = update(password_resets).where(password_resets.c.id == reset_id)
        self.connection.execute(statement.values(next_attempt_at=None))

    def delete_expired(self) -> int:
        return self.connection.execute(delete(password_resets).where(~_LIVE)).rowcount

    def _one(self, statement: Executable) -> ResetRow | None:
        row: Row[Any] | None = self.connection.execute(statement).one_or_none()
        return None if row is None else ResetRow(**row._mapping)
