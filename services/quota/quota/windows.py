"""The windows limits count in: the UTC minute, day and month a moment lies in, and when each ends.

Pure: the moment is passed in. Windows are fixed, aligned to UTC (decisions "Minute window"; spec "Limits").
"""

from datetime import UTC, date, datetime, timedelta


def minute_of(now: datetime) -> datetime:
    """The start of the minute."""
    return now.astimezone(UTC).replace(second=0, microsecond=0)


def minute_ends_at(now: datetime) -> datetime:
    return minute_of(now) + timedelta(minutes=1)


def day_of(now: datetime) -> date:
    return now.astimezone(UTC).date()


def day_ends_at(now: datetime) -> datetime:
    return minute_of(now).replace(hour=0, minute=0) + timedelta(days=1)


def month_of(now: datetime) -> str:
    """The month as the API writes it: YYYY-MM."""
    in_utc = now.astimezone(UTC)
    return f"{in_utc.year:04}-{in_utc.month:02}"  # every request asks: strftime takes five times as long


def month_ends_at(now: datetime) -> datetime:
    first = minute_of(now).replace(day=1, hour=0, minute=0)
    return (first + timedelta(days=31)).replace(day=1)


def seconds_until(moment: datetime, now: datetime) -> int:
    """Whole seconds to wait, rounded up, so that a caller who waits them is not too early. At least 1."""
    return max(1, -((now - moment) // timedelta(seconds=1)))
