"""How the person reads dates: in which time zone and language.

A cookie holds what is stored with the account, so that no screen has to ask the API for it. Signing in and the screen
of the account write the cookie.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime

from flask import Flask, g
from markupsafe import Markup

from dashboard import languages, times

#: Until then a time is told by how long ago it was.
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class Dates:
    """Writes dates and times in a person's time zone and language. This machine has the data of both."""

    zone: str = "UTC"
    language: str = languages.DEFAULT

    @classmethod
    def of(cls, zone: str | None, language: str | None) -> "Dates":
        """Returns the dates for this zone and language; in UTC and English if this machine does not know them."""
        return cls(zone if zone in times.zones() else "UTC", languages.closest(language or languages.DEFAULT))

    @classmethod
    def read(cls, packed: str) -> "Dates":
        """Parses the content of the cookie."""
        zone, _, language = packed.partition("|")
        return cls.of(zone, language)

    def packed(self) -> str:
        return f"{self.zone}|{self.language}"


def remember(zone: str | None, language: str | None) -> None:
    """Shows dates in this zone and language from now on, including in the current answer."""
    chosen = Dates.of(zone, language)
    g.has_new_dates = chosen != g.dates
    g.dates = chosen


def attach(app: Flask) -> None:
    """Gives the templates the functions with which they write dates."""
    app.jinja_env.filters.update(
        shown=shown, mine=mine, tagged=tagged, exactly=exactly, in_calendar=in_calendar, clock=clock, ago=ago,
        local_fields=times.local_fields, offset=times.offset,
        short_day=lambda day: languages.short_day(day, g.dates.language),
        weekday_and_day=lambda day: languages.weekday_and_day(day, g.dates.language),
        weekday_and_number=lambda day: languages.weekday_and_number(day, g.dates.language),
    )  # fmt: skip
    app.jinja_env.globals.update(
        weekdays=lambda: languages.weekdays(g.dates.language),
        date_attributes=_attributes,
        my_zone=lambda: g.dates.zone,
    )


def shown(at: datetime, zone: str) -> str:
    """Returns a time as text, without the name of its zone, in the person's language."""
    return times.shown(at, zone, g.dates.language)


def in_calendar(at: datetime, zone: str) -> tuple[str, str, str, str]:
    """Returns a time as the API writes it, its time of day as the field of a form holds it and as text, and the time in
    the person's zone; empty if that is the same zone.

    This is everything that an entry of the calendar needs, in one call because a month has hundreds.
    """
    mine: Dates = g.dates
    local = at.astimezone(times.zone_of(zone))
    there = "" if zone == mine.zone else f"{times.shown(at, mine.zone, mine.language)} {mine.zone}"
    return Markup(at.isoformat()), Markup(f"{local:%H:%M}"), languages.clock(local, mine.language), there


def day_name(text: str) -> str:
    """Returns a day of the API (`2026-11-27`) as charts write it, in the person's language."""
    return languages.short_day(date.fromisoformat(text), g.dates.language)


def here(at: datetime) -> str:
    """Returns a time in the person's zone as text, with the zone's name."""
    return _in_full(at, g.dates.zone)


def mine(at: datetime) -> Markup:
    """Returns a time in the person's zone as HTML, with the zone's name."""
    return Markup('{} <span class="zone">{}</span>').format(tagged(at, g.dates.zone), g.dates.zone)


def tagged(at: datetime, zone: str, *, says_zone: bool = False) -> Markup:
    """Returns a time in `zone` as HTML, without the zone's name and, if it is the present one, without the year. A
    pointer shows all of it in the person's zone or, with `says_zone`, in `zone`."""
    text = times.shown(at, zone, g.dates.language, present_year=present_year())
    return _tagged(at, text, _in_full(at, zone if says_zone else g.dates.zone))


def clock(at: datetime, zone: str) -> Markup:
    """Returns the time of day in `zone` as HTML, for lists whose headings say the day. A pointer shows all of it."""
    text = languages.clock(at.astimezone(times.zone_of(zone)), g.dates.language)
    return _tagged(at, text, _in_full(at, g.dates.zone))


def ago(at: datetime, zone: str) -> Markup:
    """Returns how long ago a time was as HTML; a time to come, or more than a day ago, as date. A pointer shows all of
    it."""
    seconds = (datetime.now(UTC) - at).total_seconds()
    if not 0 <= seconds < _DAY_SECONDS:
        return tagged(at, zone, says_zone=True)
    text = languages.ago(max(seconds, 60.0), g.dates.language)
    return _tagged(at, text, _in_full(at, zone))


def day_heading(day: date, today: date) -> str:
    """Returns the heading of a day in a list: `Today`, `Tomorrow`, `Sun, 29 Nov`; with its year if that is another."""
    near = {0: "Today", 1: "Tomorrow", -1: "Yesterday"}.get((day - today).days)
    if near or day.year == today.year:
        return near or languages.weekday_and_day(day, g.dates.language)
    return languages.full_day(day, g.dates.language)


def present_year() -> int:
    return datetime.now(UTC).year


def _in_full(at: datetime, zone: str) -> str:
    return f"{shown(at, zone)} {zone}"


def _tagged(at: datetime, text: str, hover: str) -> Markup:
    return Markup('<time datetime="{}" title="{}"{}>{}</time>').format(
        at.isoformat(), hover, _attributes(), text
    )


def exactly(at: datetime, *, to_milliseconds: bool = False) -> Markup:
    """Returns a time to the second in the person's zone as HTML, for logs, whose entries follow each other within a
    second.

    A pointer shows the year and the zone's name.
    """
    local = at.astimezone(times.zone_of(g.dates.zone))
    fraction = f".{local.microsecond // 1000:03}" if to_milliseconds else ""
    return Markup('<time datetime="{}" title="{}">{} {:%H:%M:%S}{}</time>').format(
        at.isoformat(), here(at), languages.short_day(local.date(), g.dates.language), local, fraction
    )


def _attributes() -> Markup:
    """Returns the HTML attributes that tell a screen reader the language of a date that is not in English."""
    language = g.dates.language
    return Markup("") if language.startswith("en") else Markup(' lang="{}" dir="auto"').format(language)
