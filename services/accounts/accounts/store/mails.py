"""Reads and writes the rows of `mails`, a queue that all processes share."""

from datetime import timedelta

from sqlalchemy import Connection, delete, func, text
from sqlalchemy.dialects.postgresql import insert

from accounts.models import mails
from chassis.db.clock import clock_now
from contracts.record import Record


class DueMail(Record):
    id: str
    #: See `queued_mails.KINDS`.
    kind: str
    email: str
    details: dict[str, str]
    #: Including this one.
    attempts: int


#: As for verification mails: the next attempt is scheduled before this one begins.
_CLAIM = text("""
    UPDATE mails AS mail
    SET attempts = mail.attempts + 1,
        next_attempt_at = clock_timestamp() + make_interval(secs => least(3600, :first_wait * 2 ^ mail.attempts))
    WHERE id = (
        SELECT id FROM mails WHERE next_attempt_at <= clock_timestamp() AND expires_at > clock_now()
        ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING mail.id, mail.kind, mail.email, mail.details, mail.attempts
""")


class MailStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, mail_id: str, kind: str, *, email: str, details: dict[str, str], days: int) -> None:
        """Queues a mail, which is dropped after `days`. Changes nothing if a mail with this id waits already."""
        values = {
            "id": mail_id,
            "kind": kind,
            "email": email,
            "details": details,
            "expires_at": clock_now() + timedelta(days=days),
            "next_attempt_at": func.clock_timestamp(),
        }
        self.connection.execute(insert(mails).values(values).on_conflict_do_nothing())

    def claim(self, first_wait_seconds: float) -> DueMail | None:
        """Claims the mail that has been due for longest. No other process gets it for `first_wait_seconds`."""
        row = self.connection.execute(_CLAIM, {"first_wait": first_wait_seconds}).one_or_none()
        return None if row is None else DueMail(**row._mapping)

    def delete(self, mail_id: str) -> None:
        """Removes a mail that was sent or is no longer needed."""
        self.connection.execute(delete(mails).where(mails.c.id == mail_id))

    def delete_expired(self) -> int:
        return self.connection.execute(delete(mails).where(mails.c.expires_at <= clock_now())).rowcount
