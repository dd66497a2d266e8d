"""The period that a calendar shows, in one time zone: a day, a week, a month as whole weeks, or a month as a list.
Pure.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from dashboard import languages, times

#: View → its name.
VIEWS = {"month": "Month", "week": "Week", "day": "Day", "list": "List"}
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """The month, week or day that contains `day`, as a calendar shows it."""

    view: str
    day: date
    zone: str
    language: str = languages.DEFAULT

    @classmethod
    def read(
        cls, view: str, text: str, zone: str, now: datetime, language: str = languages.DEFAULT
    ) -> "Period":
        """Returns the period that an address of the calendar names: `text` is a day (`2026-12-08`) or a month
        (`2026-12`).

        Returns the present period for any other text, and for years more than 20 away.
        """
        today = now.astimezone(times.zone_of(zone)).date()
        day = _day(text) or _day(f"{text}-01") or today
        if not today.year - 20 <= day.year <= today.year + 20:
            day = today
        return cls(view if view in VIEWS else "month", day, zone, language)

    @property
    def name(self) -> str:
        if self.view == "day":
            return languages.weekday_day_and_year(self.day, self.language)
        if self.view != "week":
            return languages.month(self.day, self.language)
        return languages.days(self.days[0], self.days[-1], self.language)

    @property
    def text(self) -> str:
        return self.day.isoformat()

    @property
    def is_monthly(self) -> bool:
        return self.view in ("month", "list")

    def moved(self, by: int) -> "Period":
        """Returns the next period if `by` is 1, the one before if it is -1."""
        if not self.is_monthly:
            return replace(self, day=self.day + by * _DAY * (7 if self.view == "week" else 1))
        count = self.day.year * 12 + self.day.month - 1 + by
        return replace(self, day=date(count // 12, count % 12 + 1, 1))

    def has(self, day: date) -> bool:
        """Whether a day belongs to the period itself: the weeks of a month also contain days of other months."""
        return not self.is_monthly or day.month == self.day.month

    @property
    def days(self) -> list[date]:
        """Returns every day that the calendar shows, in order."""
        first = last = self.day
        if self.is_monthly:
            first, last = self.day.replace(day=1), self.moved(1).day - _DAY
        if self.view in ("month", "week"):
            first, last = first - first.weekday() * _DAY, last + (6 - last.weekday()) * _DAY
        return [first + it * _DAY for it in range((last - first).days + 1)]

    def gaps(self, taken: Collection[date]) -> dict[date, date]:
        """Returns the unbroken runs of shown days that are not in `taken`: first day of each run → its last day."""
        found: dict[date, date] = {}
        first = None
        for day in self.days:
            first = None if day in taken else first or day
            if first:
                found[first] = day
        return found

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """Returns the time at which the first shown day begins, and that at which the last one ends, in UTC."""
        days = self.days
        return self._begin_of(days[0]), self._begin_of(days[-1] + _DAY)

    def span(self, first: str, last: str) -> tuple[datetime, datetime]:
        """Returns the time at which the day `first` begins, and the time at which the day `last` ends. Neither lies
        outside the period.

        If a text is not a day, the beginning or the end of the period is returned instead.
        """
        begin, end = self.bounds
        if (day := _day(first)) is not None:
            begin = max(begin, self._begin_of(day))
        if (day := _day(last)) is not None:
            end = min(end, self._begin_of(day + _DAY))
        return begin, end

    def day_of(self, at: datetime) -> date:
        return at.astimezone(times.zone_of(self.zone)).date()

    def _begin_of(self, day: date) -> datetime:
        return datetime.combine(day, time(), times.zone_of(self.zone)).astimezone(UTC)


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
    return day if day is not None and 1900 < day.year < 2200 else None
