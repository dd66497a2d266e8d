"""Reads and writes the rows of `sign_up_tries`: counts of attempts in fixed windows, exact across processes."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, text, update

from accounts.models import sign_up_tries
from chassis.db.clock import clock_now


class Tries(NamedTuple):
    """The number of tries in the current window, this one included, and the seconds until the window ends."""

    made: int
    seconds_left: int


_TAKE = text("""
    INSERT INTO sign_up_tries (subject, ends_at, tries)
    SELECT :subject, to_timestamp((floor(extract(epoch FROM clock_now()) / :window) + 1) * :window), 1
    ON CONFLICT (subject, ends_at) DO UPDATE SET tries = sign_up_tries.tries + 1
    RETURNING tries, ceil(extract(epoch FROM ends_at - clock_now()))::integer
""")


class TryStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def take(self, subject: str, window_seconds: int) -> Tries:
        """Counts one try of a subject, such as the hash of an address, in the present window of `window_seconds`.

        Windows begin at multiples of `window_seconds` since 1970, so they are the same for all processes.
        """
        asked = {"subject": subject, "window": window_seconds}
        return Tries(*self.connection.execute(_TAKE, asked).one())

    def give_back(self, subjects: Sequence[str]) -> None:
        """Subtracts one try from the count of each subject in its current window."""
        counted = sign_up_tries.c.subject.in_(subjects) & (sign_up_tries.c.ends_at > clock_now())
        one_less = func.greatest(sign_up_tries.c.tries - 1, 0)
        self.connection.execute(update(sign_up_tries).where(counted).values(tries=one_less))

    def forget(self, subject: str) -> None:
        """Deletes all counts of a subject."""
        self.connection.execute(delete(sign_up_tries).where(sign_up_tries.c.subject == subject))

    def delete_old(self) -> int:
        """Deletes the counts of past windows."""
        return self.connection.execute(
            delete(sign_up_tries).where(sign_up_tries.c.ends_at <= clock_now())
        ).rowcount
