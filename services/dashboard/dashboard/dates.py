"""How the person reads dates: in which time zone and language.

Both are stored with the account. A cookie holds a copy, so that no screen has to ask the API for them. The cookie is
written when the person signs in, and by the screen of the account.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

from flask import Flask, g
from markupsafe import Markup, escape

from dashboard import languages, times

#: The heading of the present day.
TODAY = "Today"
#: Until then a time is told by how long ago it was.
_DAY_SECONDS = 86_400.0
#: A text as HTML. The posts of a calendar share their zones and times of day.
_in_html = lru_cache(1_000)(escape)


@dataclass(frozen=True)
class Dates:
    """The time zone and the language in which a person's dates are written. Create it with `of`, which replaces what we
    cannot write.
    """

    zone: str = "UTC"
    language: str = languages.DEFAULT

    @classmethod
    def of(cls, zone: str | None, language: str | None) -> "Dates":
        """Returns this zone and this language if we can write dates in them. An unknown zone is replaced by UTC, an
        unknown language by the closest known one.
        """
        return cls(zone if zone in times.zones() else "UTC", languages.closest(language or languages.DEFAULT))

    @classmethod
    def read(cls, packed: str) -> "Dates":
        """Parses the content of the cookie that holds the zone and the language."""
        zone, _, language = packed.partition("|")
        return cls.of(zone, language)

    def packed(self) -> str:
        return f"{self.zone}|{self.language}"


def remember(zone: str | None, language: str | None) -> None:
    """Stores zone and language in the cookie, and writes dates in them from now on, including in the current answer."""
    chosen = Dates.of(zone, language)
    g.has_new_dates = chosen != g.dates
    g.dates = chosen


def attach(app: Flask) -> None:
    """Adds to the templates of the application the functions that write dates."""
    app.jinja_env.filters.update(
        shown=shown, mine=mine, my_time=my_time, tagged=tagged, exactly=exactly,
        clock=clock, ago=ago,
        clock_or_day=clock_or_day, local_fields=times.local_fields, offset=times.offset,
        short_day=lambda day: languages.short_day(day, g.dates.language),
        # Plan credits begin with a month in UTC.
        month_name=lambda at: languages.month(at.astimezone(UTC).date(), g.dates.language),
        weekday_and_day=lambda day: languages.weekday_and_day(day, g.dates.language),
        weekday_and_number=lambda day: languages.weekday_and_number(day, g.dates.language),
    )  # fmt: skip
    app.jinja_env.globals.update(
        weekdays=lambda: languages.weekdays(g.dates.language),
        date_attributes=_attributes,
        my_zone=lambda: g.dates.zone,
        zone_options=times.zone_options,
    )


def shown(at: datetime, zone: str) -> str:
    """Returns a time as text, without the name of its zone, in the person's language."""
    return times.shown(at, zone, g.dates.language)


class InCalendar(NamedTuple):
    """The times that an entry of the calendar shows, as HTML."""

    #: HTML attributes for scripts: the time, its date and time of day in the brand's zone as a form holds them, and
    #: that zone.
    data: Markup
    #: The time of day in the calendar's zone as text.
    hour: Markup
    #: For a pointer that rests on the entry: the time in the brand's and in the person's zone, as far as they differ
    #: from the calendar's.
    hover: Markup
    #: The time in the brand's zone with the zone's name; empty if the calendar has the same zone.
    there: Markup


def in_calendar(at: datetime, zone: str, brand_zone: str) -> InCalendar:
    """Returns how a calendar in `zone` shows the time of a post. If the brand has another zone, the time in that zone
    is shown too."""
    mine: Dates = g.dates
    local = brands = at.astimezone(times.zone_of(zone))
    there = ""
    hover: list[str] = []
    if brand_zone != zone:
        brands = at.astimezone(times.zone_of(brand_zone))
        is_same_day = brands.date() == local.date()
        text = (
            languages.clock(brands, mine.language)
            if is_same_day
            else times.shown(at, brand_zone, mine.language, present_year=present_year())
        )
        there = f"{text} {brand_zone}"
        hover.append(_in_full(at, brand_zone))
    if mine.zone not in (zone, brand_zone):
        hover.append(f"{_in_full(at, mine.zone)} for you")
    # Slices, because a format of a time takes ten times as long.
    form = brands.isoformat()
    data = Markup(
        f' data-at="{at.isoformat()}" data-date="{form[:10]}" data-time="{form[11:16]}"'
        f' data-zone="{_in_html(brand_zone)}"'
    )
    hour = _in_html(languages.clock(local, mine.language))
    return InCalendar(data, hour, _in_html("; ".join(hover)), _in_html(there))


def clock_or_day(at: datetime, zone: str) -> str:
    """Returns a time in the person's zone as text, to be shown beside the same time in `zone`. If the day is the same
    in both zones, the text has only the time of day.
    """
    mine: Dates = g.dates
    here, there = at.astimezone(times.zone_of(mine.zone)), at.astimezone(times.zone_of(zone))
    return languages.clock(here, mine.language) if here.date() == there.date() else shown(at, mine.zone)


def day_name(text: str) -> str:
    """Returns a day of a chart as text, in the person's language and without its year: `27 Nov`. `text`: the day as in
    the API, `2026-11-27`.
    """
    return languages.short_day(date.fromisoformat(text), g.dates.language)


def here(at: datetime) -> str:
    """Returns a time in the person's zone as text, with the zone's name."""
    return _in_full(at, g.dates.zone)


def mine(at: datetime) -> Markup:
    """Returns a time in the person's zone as HTML, with the zone's name."""
    text = Markup('<span class="at">{} <span class="zone">{}</span></span>')
    return text.format(tagged(at, g.dates.zone), g.dates.zone)


def my_time(at: datetime) -> Markup:
    """Returns a time in the person's zone as HTML, for lists that name the zone above them."""
    return tagged(at, g.dates.zone)


def tagged(at: datetime, zone: str, *, says_zone: bool = False) -> Markup:
    """Returns a time in `zone` as HTML, without the zone's name. The year is left out if it is the present one.

    A pointer that rests on it shows date and time with the year: in the zone of the person who looks at it or, with
    `says_zone`, in `zone`.
    """
    text = times.shown(at, zone, g.dates.language, present_year=present_year())
    return _tagged(at, text, _in_full(at, zone if says_zone else g.dates.zone))


def clock(at: datetime, zone: str) -> Markup:
    """Returns the time of day in `zone` as HTML, for lists whose headings say the day.

    A pointer that rests on it shows date and time in the zone of the person who looks at it.
    """
    text = languages.clock(at.astimezone(times.zone_of(zone)), g.dates.language)
    return _tagged(at, text, _in_full(at, g.dates.zone))


def ago(at: datetime, zone: str) -> Markup:
    """Returns as HTML how long ago a time was. A time in the future, or more than a day ago, is written as a date.

    A pointer that rests on it shows date and time in `zone`, with the year.
    """
    seconds = (datetime.now(UTC) - at).total_seconds()
    if not 0 <= seconds < _DAY_SECONDS:
        return tagged(at, zone, says_zone=True)
    text = languages.ago(max(round(seconds / 60), 1), g.dates.language)
    return _tagged(at, text, _in_full(at, zone))


def day_heading(day: date, today: date) -> str:
    """Returns the heading of a day in a list: `Yesterday`, `Today`, `Tomorrow`, otherwise `Sun, 29 Nov`, or in another
    year `Friday, 1 January 2027`."""
    near = {0: TODAY, 1: "Tomorrow", -1: "Yesterday"}.get((day - today).days)
    if near or day.year == today.year:
        return near or languages.weekday_and_day(day, g.dates.language)
    return languages.full_day(day, g.dates.language)


def present_year() -> int:
    return datetime.now(UTC).year


def _in_full(at: datetime, zone: str) -> str:
    return f"{shown(at, zone)} {zone}"


def _tagged(at: datetime, text: str, hover: str) -> Markup:
    # Not Markup.format, which takes five times as long, and a page has up to a hundred times.
    when = f'datetime="{at.isoformat()}" title="{escape(hover)}"'
    return Markup(f"<time {when}{_attributes()}>{escape(text)}</time>")


def exactly(at: datetime, *, to_milliseconds: bool = False) -> Markup:
    """Returns a time to the second in the person's zone as HTML. For logs, whose entries follow each other within a
    second.

    A pointer that rests on it shows the year and the zone's name.
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
