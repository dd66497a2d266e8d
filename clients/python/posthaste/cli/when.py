"""Times as people write them: "tomorrow 9:00", "fri 14:30", "in 2 hours", "2026-12-01 09:00". Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo

EXAMPLES = 'such as "tomorrow 9:00", "fri 14:30", "in 2 hours", "2026-12-01 09:00" or 2026-12-01T09:00+01:00'

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CLOCK = re.compile(r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>am|pm)?", re.ASCII)
_AHEAD = re.compile(r"in\s+(?P<count>\d{1,5})\s*(?P<unit>m|min|minutes?|h|hours?|d|days?|w|weeks?)", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class NotATime(ValueError):
    """Raised when a text is not a time, or could mean two times. The message says what to write instead."""


def parse(text: str, now: datetime, zone: tzinfo | None) -> datetime:
    """Returns the time that a text means, with its time zone. Raises NotATime if the text is not a time, or could mean
    two.

    `now` has a time zone. `zone`: the time zone in which the text gives days and clock times; None: this machine's.
    """
    words = " ".join(text.lower().split())
    ahead = _AHEAD.fullmatch(words)
    if ahead is not None:
        return now.astimezone(zone) + timedelta(**{_UNITS[ahead["unit"][0]]: int(ahead["count"])})
    local_now = now.astimezone(zone).replace(tzinfo=None)
    try:
        exact = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
    except ValueError:
        exact = _relative(words, local_now)
    else:
        if ":" not in text:
            raise NotATime(f"{text!r} has no time of the day: write for example {text.strip()} 09:00")
    return exact if exact.tzinfo is not None else _in_zone(exact, zone)


def _relative(words: str, now: datetime) -> datetime:
    """Returns the time that a day and a clock time mean, such as "fri 14:30". A clock time alone means the next moment
    at which a clock shows it.
    """
    day, _, rest = words.partition(" ")
    rest = rest.removeprefix("at ")
    if day in ("today", "tomorrow"):
        return _at(now + timedelta(days=day == "tomorrow"), rest, words)
    number = _weekday(day)
    if number is not None:
        found = _at(now + timedelta(days=(number - now.weekday()) % 7), rest, words)
        return found if found > now else found + timedelta(days=7)
    found = _at(now, words.removeprefix("at "), words)
    return found if found > now else found + timedelta(days=1)


def _weekday(word: str) -> int | None:
    matches = [number for number, day in enumerate(_DAYS) if len(word) >= 3 and day.startswith(word)]
    return matches[0] if len(matches) == 1 else None


def _at(day: datetime, clock: str, text: str) -> datetime:
    match = _CLOCK.fullmatch(clock)
    if match is None or not (match["minute"] or match["half"]):
        raise NotATime(f"{text!r} is not a time: write one {EXAMPLES}")
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if match["half"]:
        if not 1 <= hour <= 12:
            raise NotATime(f"{text!r} is not a time of the day")
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    if hour > 23 or minute > 59:
        raise NotATime(f"{text!r} is not a time of the day")
    return day.replace(hour=hour, minute=minute, second=0, microsecond=0)


def _in_zone(local: datetime, zone: tzinfo | None) -> datetime:
    """Returns the moment of a clock time in the zone. Raises NotATime for a clock time that does not exist, or exists
    twice, because clocks change.
    """

    def moment(fold: int) -> datetime:
        told = local.replace(fold=fold)
        return (told.replace(tzinfo=zone) if zone else told).astimezone(timezone.utc)

    first, second = moment(0), moment(1)
    if first.astimezone(zone).replace(tzinfo=None) != local:
        raise NotATime(
            f"{local:%Y-%m-%d %H:%M} does not exist: clocks are set forward then. Choose another time"
        )
    if first != second:
        both = " or ".join(one.astimezone(zone).isoformat(timespec="minutes") for one in (first, second))
        raise NotATime(f"{local:%Y-%m-%d %H:%M} comes twice, because clocks are set back then: write {both}")
    return first.astimezone(zone)
