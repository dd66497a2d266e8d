"""A month as a calendar shows it: whole weeks from Monday, in one time zone. Pure."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from dashboard import times


@dataclass(frozen=True)
class Month:
    """A month of a year, in a zone."""

    year: int
    number: int
    zone: str

    @classmethod
    def read(cls, text: str, zone: str, now: datetime) -> "Month":
        """Returns the month that a text such as `2026-12` names; the present month unless that lies within 20 years."""
        today = now.astimezone(times.zone_of(zone))
        try:
            first = date.fromisoformat(f"{text}-01")
        except ValueError:
            first = today.date()
        if not today.year - 20 <= first.year <= today.year + 20:
            first = today.date()
        return cls(first.year, first.month, zone)

    @property
    def name(self) -> str:
        return f"{date(self.year, self.number, 1):%B %Y}"

    @property
    def text(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    def moved(self, by: int) -> "Month":
        """Returns the next month (1) or the one before (-1)."""
        count = self.year * 12 + self.number - 1 + by
        return Month(count // 12, count % 12 + 1, self.zone)

    @property
    def days(self) -> list[date]:
        """Returns every day of the weeks that the month is part of."""
        first = date(self.year, self.number, 1)
        after = self.moved(1)
        monday = first - timedelta(days=first.weekday())
        last = date(after.year, after.number, 1) - timedelta(days=1)
        count = (last - monday).days + 7 - last.weekday()
        return [monday + timedelta(days=it) for it in range(count)]

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """Returns when the first of the days begins, and when the last has ended."""
        days = self.days
        zone = times.zone_of(self.zone)
        begin = datetime.combine(days[0], time(), zone)
        end = datetime.combine(days[-1] + timedelta(days=1), time(), zone)
        return begin.astimezone(UTC), end.astimezone(UTC)

    def span(self, first: str, last: str) -> tuple[datetime, datetime]:
        """Returns when the first of these days begins, and when the last has ended; the whole month's for none."""
        begin, end = self.bounds
        zone = times.zone_of(self.zone)
        if (day := _day(first)) is not None:
            begin = max(begin, datetime.combine(day, time(), zone).astimezone(UTC))
        if (day := _day(last)) is not None:
            end = min(end, datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC))
        return begin, end

    def day_of(self, at: datetime) -> date:
        return at.astimezone(times.zone_of(self.zone)).date()


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1900 < day.year < 2200 else None
