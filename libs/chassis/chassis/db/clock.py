"""The one clock of business time: the database's clock, which the local stack may shift for all services at once.

In SQL use `clock_now()` (created by `chassis.db.schema`), in Python `now(connection)`. Leases, deadlines and timeouts
use real time: `clock_timestamp()` in SQL, `time.monotonic()` in Python.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Function, func, text

from chassis.config import ConfigError
from chassis.db.database import Database


def now(connection: Connection) -> datetime:
    """Returns the business time in UTC, in whole milliseconds."""
    moment: datetime = connection.execute(text("SELECT clock_now()")).scalar_one()
    return moment.astimezone(UTC)


def clock_now() -> Function[datetime]:
    """Returns the business time as a SQL expression."""
    return func.clock_now()


def shift_seconds(connection: Connection) -> float:
    """Returns by how many seconds the business clock of this database is shifted."""
    return float(connection.execute(text("SELECT extract(epoch FROM shift) FROM clock_shift")).scalar_one())


def set_shift(connection: Connection, seconds: float) -> None:
    """Sets the clock shift of this database. Only the operator's command line calls this, on a local stack."""
    connection.execute(
        text("UPDATE clock_shift SET shift = make_interval(secs => :seconds)"), {"seconds": seconds}
    )


def refuse_shifted(connection: Connection, *, allowed: bool) -> None:
    """Raises ConfigError when the clock is shifted but `allowed` is false, as in production."""
    if not allowed and shift_seconds(connection) != 0:
        raise ConfigError("the database's clock is shifted, and CLOCK_SHIFT_ALLOWED is not true")


class LocalClock:
    """Gives the business time without asking the database: the local clock plus its measured difference to the
    database's.

    The gateway checks at every request whether the token has expired, and a query for that would slow every read.
    While the database is away, the last known difference stays in use.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def measure(self) -> None:
        """Measures by how much the database's clock is ahead. Raises SERVICE_UNAVAILABLE when the database is away."""
        with self._database.reading() as connection:
            self._ahead = now(connection) - datetime.now(UTC)
