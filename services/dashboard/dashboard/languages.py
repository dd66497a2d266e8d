"""Writes dates and times of day in many languages (Unicode CLDR, by Babel). Pure."""

import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from babel import Locale
from babel.dates import format_date, format_interval, format_skeleton, format_time, format_timedelta

#: BCP 47 tag → the language's own name for itself. Babel keeps about 1 MB for each one that is used.
LANGUAGES = {
    "en-GB": "English (United Kingdom)", "en-US": "English (United States)", "en-AU": "English (Australia)",
    "ar": "العربية", "bg": "български", "ca": "català", "cs": "čeština", "da": "dansk", "de": "Deutsch",
    "el": "Ελληνικά", "es": "español", "es-MX": "español (México)", "et": "eesti", "fi": "suomi", "fr": "français",
    "fr-CA": "français (Canada)", "he": "עברית", "hi": "हिन्दी", "hr": "hrvatski", "hu": "magyar", "id": "Indonesia",
    "it": "italiano", "ja": "日本語", "ko": "한국어", "lt": "lietuvių", "lv": "latviešu", "nb": "norsk bokmål",
    "nl": "Nederlands", "pl": "polski", "pt-PT": "português (Portugal)", "pt-BR": "português (Brasil)",
    "ro": "română", "ru": "русский", "sk": "slovenčina", "sl": "slovenščina", "sr": "српски", "sv": "svenska",
    "th": "ไทย", "tr": "Türkçe", "uk": "українська", "vi": "Tiếng Việt", "zh-Hans": "中文（简体）",
    "zh-Hant": "中文（繁體）",
}  # fmt: skip
DEFAULT = "en-GB"


def closest(tag: str) -> str:
    """Returns the language of our list that fits a BCP 47 tag best: `de` for `de-AT`. English if none fits."""
    parts = tag.split("-")
    while parts:
        if (shorter := "-".join(parts)) in LANGUAGES:
            return shorter
        parts.pop()
    primary = tag.partition("-")[0]
    return next((it for it in LANGUAGES if it.partition("-")[0] == primary), DEFAULT)


def moment(local: datetime, language: str, *, has_year: bool = True) -> str:
    """Returns day of the week, date and time of day as text: `Fri, 27 Nov 2026, 09:00`, or without the year."""
    before, between, after, day_is_first = _order(language)
    written = weekday_day_and_year if has_year else weekday_and_day
    day = written(local.date(), language)
    hour = clock(local, language)
    return f"{before}{day if day_is_first else hour}{between}{hour if day_is_first else day}{after}"


def clock(local: datetime, language: str) -> str:
    """Returns the time of day as text: `09:00`, or `9:00 AM` where that is usual."""
    return _clock(local.hour, local.minute, language)


def short_day(day: date, language: str) -> str:
    """Returns a day as text, without its year: `27 Nov`."""
    return format_skeleton("MMMd", day, locale=_locale(language))


@lru_cache(4_096)
def weekday_and_day(day: date, language: str) -> str:
    """Returns a day as text, with its weekday and without its year: `Fri, 27 Nov`."""
    return format_skeleton("MMMEd", day, locale=_locale(language))


def full_day(day: date, language: str) -> str:
    """Returns a day as text, in full: `Friday, 27 November 2026`."""
    return format_date(day, "full", locale=_locale(language))


@lru_cache(4_096)
def weekday_day_and_year(day: date, language: str) -> str:
    """Returns a day as text, with its weekday and year: `Fri, 27 Nov 2026`."""
    return format_skeleton("yMMMEd", day, locale=_locale(language))


def month(day: date, language: str) -> str:
    """Returns the month of a day as text, with its year: `November 2026`."""
    return format_skeleton("yMMMM", day, locale=_locale(language))


def days(first: date, last: date, language: str) -> str:
    """Returns a range of days as text: `30 Nov – 6 Dec 2026`."""
    text = format_interval(first, last, "yMMMd", locale=_locale(language))
    # CLDR puts thin spaces around the dash; between two bare numbers none is usual: 23–29 Nov 2026.
    return re.sub(r"\s–\s", "–", text) if first.month == last.month else text


def weekdays(language: str) -> list[str]:
    """Returns the short names of the days of a week, Monday first."""
    names = _locale(language).days["stand-alone"]["abbreviated"]
    return [names[it] for it in range(7)]


def weekday_and_number(day: date, language: str) -> str:
    """Returns the weekday and the number of a day as text: `Fri 27`."""
    return format_skeleton("Ed", day, locale=_locale(language))


@lru_cache(4_096)
def ago(minutes: int, language: str) -> str:
    """Returns as text how long ago something was: `12 minutes ago`."""
    return format_timedelta(timedelta(minutes=-minutes), add_direction=True, locale=_locale(language))


@lru_cache(len(LANGUAGES))
def _locale(language: str) -> Locale:
    return Locale.parse(language, sep="-")


@lru_cache(len(LANGUAGES))
def _order(language: str) -> tuple[str, str, str, bool]:
    """Returns how a language joins date and time of day: the text before, between and after them, and whether the date
    comes first.
    """
    joined = str(_locale(language).datetime_formats["medium"]).replace("'", "")
    first, second = ("{1}", "{0}") if joined.index("{1}") < joined.index("{0}") else ("{0}", "{1}")
    before, rest = joined.split(first)
    between, after = rest.split(second)
    return before, between, after, first == "{1}"


# A calendar shows hundreds of times, and Babel takes 5 µs for each part of one.


@lru_cache(4_096)
def _clock(hour: int, minute: int, language: str) -> str:
    return format_time(time(hour, minute), "short", locale=_locale(language))
