"""Reads and writes the rows of `verification_mails`, a queue that all processes share."""

from sqlalchemy import Connection, delete, func, text
from sqlalchemy.dialects.postgresql import insert

from accounts.models import verification_mails
from contracts.record import Record


class DueMail(Record):
    user_id: str
    email: str
    #: Including this one.
    attempts: int


#: Sets the time of the next attempt before this one begins, so that a failure or a kill needs no clean-up. Waits double
#: up to an hour.
_CLAIM = text("""
    UPDATE verification_mails AS mail
    SET attempts = mail.attempts + 1,
        next_attempt_at = clock_timestamp() + make_interval(secs => least(3600, :first_wait * 2 ^ mail.attempts))
    FROM users
    WHERE users.id = mail.user_id AND mail.user_id = (
        SELECT user_id FROM verification_mails WHERE next_attempt_at <= clock_timestamp()
        ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING mail.user_id, users.email, mail.attempts
""")


class VerificationMailStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, user_id: str) -> None:
        """Queues the verification mail of a user, unless it is queued already."""
        values = {"user_id": user_id, "next_attempt_at": func.clock_timestamp()}
        self.connection.execute(insert(verification_mails).values(values).on_conflict_do_nothing())

    def claim(self, first_wait_seconds: float) -> DueMail | None:
        """Claims the mail that has been due for longest. No other process gets it for `first_wait_seconds`."""
        row = self.connection.execute(_CLAIM, {"first_wait": first_wait_seconds}).one_or_none()
        return None if row is None else DueMail(**row._mapping)

    def delete(self, user_id: str) -> None:
        """Removes a mail that was sent or is no longer needed."""
        self.connection.execute(delete(verification_mails).where(verification_mails.c.user_id == user_id))
