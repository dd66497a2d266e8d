"""Writes times for people, and reads the times that people write. Pure."""

from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

from markupsafe import Markup, escape

from dashboard import languages


class TimeRefused(ValueError):
    """Raised for a date and time that does not exist in its zone, or exists twice. The text of the error is shown to
    people.
    """


@lru_cache(1_000)
def zone_of(name: str) -> ZoneInfo:
    """Returns the time zone with this name; UTC for a name that this machine does not know."""
    return ZoneInfo(name) if name in zones() else ZoneInfo("UTC")


def end_of_day(now: datetime) -> datetime:
    """Returns when the API's present day ends. Its days are in UTC."""
    return (now.astimezone(UTC) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)


@cache
def zones() -> tuple[str, ...]:
    """Returns the names of the time zones to choose from: continent and city, and UTC."""
    continents = ("Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
    return ("UTC", *sorted(it for it in available_timezones() if it.startswith(continents) and "/" in it))


def zone_options(chosen: str) -> Markup:
    """Returns the HTML options of a `<select>` of time zones, with `chosen` selected."""
    name = escape(chosen)
    return Markup(_options().replace(f"<option>{name}<", f"<option selected>{name}<"))


@cache
def _options() -> str:
    return "".join(f"<option>{escape(name)}</option>" for name in zones())


def shown(
    at: datetime, zone: str, language: str = languages.DEFAULT, *, present_year: int | None = None
) -> str:
    """Returns a time as text, without the name of its zone: `Fri, 27 Nov 2026, 09:00`. Leaves the year out if it is
    `present_year`.
    """
    local = at.astimezone(zone_of(zone))
    return languages.moment(local, language, has_year=local.year != present_year)


def offset(at: datetime, zone: str) -> str:
    """Returns how far a zone is from UTC at a time, as text: `UTC+1`, `UTC−3:30`."""
    away = at.astimezone(zone_of(zone)).utcoffset() or timedelta()
    minutes = int(away.total_seconds()) // 60
    if minutes == 0:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '−'}{hours}" + (f":{rest:02}" if rest else "")


def read(date: str, time: str, zone: str) -> datetime:
    """Returns the time that a person chose in a form, in UTC. Raises TimeRefused if there is no such time in the zone,
    or there are two.
    """
    try:
        local = datetime.fromisoformat(f"{date}T{time}")
    except ValueError:
        raise TimeRefused("Choose a date and a time.") from None
    # In the first and the last year that datetime knows, the same time in UTC may lie outside.
    if local.tzinfo is not None or zone not in zones() or local.year in (MINYEAR, MAXYEAR):
        raise TimeRefused("Choose a date, a time and a time zone.")
    there = ZoneInfo(zone)
    earlier, later = local.replace(tzinfo=there), local.replace(tzinfo=there, fold=1)
    if earlier.astimezone(UTC).astimezone(there).replace(tzinfo=None) != local:
        raise TimeRefused(
            f"{time} does not exist on that day in {zone}: clocks go forward. Choose another time."
        )
    if earlier.utcoffset() != later.utcoffset():
        raise TimeRefused(f"{time} comes twice on that day in {zone}: clocks go back. Choose another time.")
    return earlier.astimezone(UTC)


def chosen(date: str, time: str, zone: str) -> datetime | None:
    """Returns the time that a person chose in a form, as `read` does. Returns None where `read` raises TimeRefused."""
    try:
        return read(date, time, zone)
    except TimeRefused:
        return None


def proposed(now: datetime, zone: str) -> tuple[str, str]:
    """Returns the date and time with which a form begins: the first full hour that is at least half an hour away."""
    ahead = (now + timedelta(minutes=90)).astimezone(zone_of(zone)).replace(minute=0, second=0, microsecond=0)
    return local_fields(ahead, zone)


def local_fields(at: datetime, zone: str) -> tuple[str, str]:
    """Returns a time as the two fields of a form hold it: date, and time of day."""
    local = at.astimezone(zone_of(zone))
    return f"{local:%Y-%m-%d}", f"{local:%H:%M}"
