"""Rows of `verification_mails`, a queue that any process may work on."""

from sqlalchemy import Connection, delete, func, text
from sqlalchemy.dialects.postgresql import insert

from accounts.models import verification_mails
from contracts.record import Record


class DueMail(Record):
    user_id: str
    email: str
    #: This one included.
    attempts: int


#: The next attempt is set before this one begins: after it has failed, or its process was killed, nothing is left to
#: do. Waits double from the first one to an hour (our choice).
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
        values = {"user_id": user_id, "next_attempt_at": func.clock_timestamp()}
        self.connection.execute(insert(verification_mails).values(values))

    def claim(self, first_wait_seconds: float) -> DueMail | None:
        """The mail that has been due for longest; nobody else gets it before the wait is over."""
        row = self.connection.execute(_CLAIM, {"first_wait": first_wait_seconds}).one_or_none()
        return None if row is None else DueMail(**row._mapping)

    def delete(self, user_id: str) -> None:
        """Sent, or no longer needed."""
        self.connection.execute(delete(verification_mails).where(verification_mails.c.user_id == user_id))
