"""The one clock: database time, which the local stack may shift for all services at once.

In SQL write `clock_now()` (made by `chassis.db.schema`); in Python `now(connection)`. Leases, deadlines and
time-outs do not use it: in SQL they compare with `clock_timestamp()`, in Python with `time.monotonic()`.
"""

from datetime import UTC, datetime

from sqlalchemy import Connection, Function, func, text

from chassis.config import ConfigError


def now(connection: Connection) -> datetime:
    """The time in UTC, in whole milliseconds."""
    moment: datetime = connection.execute(text("SELECT clock_now()")).scalar_one()
    return moment.astimezone(UTC)


def clock_now() -> Function[datetime]:
    """The same as a SQL expression, for use inside statements."""
    return func.clock_now()


def shift_seconds(connection: Connection) -> float:
    """How far the clock is shifted."""
    return float(connection.execute(text("SELECT extract(epoch FROM shift) FROM clock_shift")).scalar_one())


def set_shift(connection: Connection, seconds: float) -> None:
    """Moves this database's clock. Only the local stack's operator tool calls this."""
    connection.execute(
        text("UPDATE clock_shift SET shift = make_interval(secs => :seconds)"), {"seconds": seconds}
    )


def refuse_shifted(connection: Connection, *, allowed: bool) -> None:
    """Raises ConfigError when the clock is shifted where that is not allowed (production)."""
    if not allowed and shift_seconds(connection) != 0:
        raise ConfigError("the database's clock is shifted, and CLOCK_SHIFT_ALLOWED is not true")
