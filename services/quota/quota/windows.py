"""The UTC minute, day and month of a moment, and when each ends (pure).

Windows are fixed and aligned to UTC (docs/decisions.md, "Minute window"; docs/spec.md, "Limits").
"""

from datetime import UTC, date, datetime, timedelta


def minute_of(now: datetime) -> datetime:
    """Returns the start of the UTC minute that contains `now`."""
    return now.astimezone(UTC).replace(second=0, microsecond=0)


def minute_ends_at(now: datetime) -> datetime:
    return minute_of(now) + timedelta(minutes=1)


def day_of(now: datetime) -> date:
    return now.astimezone(UTC).date()


def day_ends_at(now: datetime) -> datetime:
    return minute_of(now).replace(hour=0, minute=0) + timedelta(days=1)


def month_of(now: datetime) -> str:
    """Returns the UTC month that contains `now`, as YYYY-MM."""
    in_utc = now.astimezone(UTC)
    return f"{in_utc.year:04}-{in_utc.month:02}"  # on every request: strftime takes five times as long


def month_ends_at(now: datetime) -> datetime:
    first = minute_of(now).replace(day=1, hour=0, minute=0)
    return (first + timedelta(days=31)).replace(day=1)


def seconds_until(moment: datetime, now: datetime) -> int:
    """Returns the whole seconds from `now` until the moment, at least 1. They are rounded up, so that a client that
    waits for them is not refused again.
    """
    return max(1, -((now - moment) // timedelta(seconds=1)))
