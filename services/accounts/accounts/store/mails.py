"""Reads and writes the rows of `mails`, a queue that all processes share."""

from datetime import timedelta

from sqlalchemy import Connection, delete, func, text
from sqlalchemy.dialects.postgresql import insert

from accounts.models import mails
from chassis.db.clock import clock_now
from contracts.record import Record


class DueMail(Record):
    id: str
    #: See `users.mails.KINDS`.
    kind: str
    email: str
    details: dict[str, str]
    #: Including this one.
    attempts: int


#: Set in `connection.info`, so that the commit wakes the loop that sends.
QUEUED = "mails_queued"

#: Sets the time of the next attempt before this one begins, so that a failure or a kill needs no clean-up. Waits double
#: up to an hour.
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
        self.connection.info[QUEUED] = True

    def add_verification(self, user_id: str, email: str, *, days: int) -> None:
        """Queues the mail with which a new account is verified."""
        self.add(
            f"{user_id}.verification", "verification", email=email, details={"user_id": user_id}, days=days
        )

    def delete_verification(self, user_id: str) -> None:
        self.delete(f"{user_id}.verification")

    def claim(self, first_wait_seconds: float) -> DueMail | None:
        """Claims the mail that has been due for longest and returns it; None if none is due.

        The mail becomes due again after `first_wait_seconds`, and after each further attempt twice as long (at most an
        hour). Until then no other process gets it.
        """
        row = self.connection.execute(_CLAIM, {"first_wait": first_wait_seconds}).one_or_none()
        return None if row is None else DueMail(**row._mapping)

    def delete(self, mail_id: str) -> None:
        """Removes a mail that was sent or is no longer needed."""
        self.connection.execute(delete(mails).where(mails.c.id == mail_id))

    def delete_expired(self) -> int:
        return self.connection.execute(delete(mails).where(mails.c.expires_at <= clock_now())).rowcount
