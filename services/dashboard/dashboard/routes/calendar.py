"""The calendar: what went out in a month, and what is to go out."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from flask import Blueprint, render_template, request

from dashboard import api, times
from dashboard.months import Month
from dashboard.routes.shared import Places, recent_places

screens = Blueprint("calendar", __name__, url_prefix="/calendar")

#: The API lists at most 100 posts at once: a month shows up to 300 that wait and 300 that are out.
_AT_ONCE, _TIMES = 100, 3


@dataclass(frozen=True)
class Entry:
    """A post on a day."""

    id: str
    at: datetime
    platform: str
    page_id: str
    message: str | None
    status: str


@screens.get("")
def show() -> str:
    client = api.reader()
    page_id = request.args.get("page") or None
    # The zone decides where a month begins, so the brands come first.
    places = recent_places(client)()
    zone = _zone(places, page_id)
    now = datetime.now(UTC)
    month = Month.read(request.args.get("month", ""), zone, now)
    begin, end = month.bounds

    def waiting() -> tuple[list[Entry], bool]:
        def listed(cursor: str | None) -> tuple[list[Entry], str | None]:
            found = client.list_scheduled_posts(
                status="queued,held", page_id=page_id, limit=_AT_ONCE, cursor=cursor
            )
            entries = [
                Entry(it.id, it.scheduled_at, it.platform, it.page_id, it.message, it.status)
                for it in found.scheduled_posts
            ]
            return entries, found.next_cursor

        return _until(listed, lambda it: it.at >= end)

    def out() -> tuple[list[Entry], bool]:
        def listed(cursor: str | None) -> tuple[list[Entry], str | None]:
            found = client.list_published_posts(since=begin, page_id=page_id, limit=_AT_ONCE, cursor=cursor)
            entries = [
                Entry(it.id, it.published_at, it.platform, it.page_id, it.message, "published")
                for it in found.published_posts
            ]
            return entries, found.next_cursor

        return _until(listed, lambda it: it.at < begin) if begin <= now else ([], False)

    (planned, is_cut), (published, was_cut) = api.together(waiting, out)
    days: dict[date, list[Entry]] = defaultdict(list)
    for entry in sorted([*planned, *published], key=lambda it: it.at):
        if begin <= entry.at < end:
            days[month.day_of(entry.at)].append(entry)
    return render_template(
        "calendar.html", month=month, days=days, places=places, page_id=page_id or "", today=month.day_of(now),
        is_cut=is_cut or was_cut, local=times.zone_of(zone),
    )  # fmt: skip


def _zone(places: Places, page_id: str | None) -> str:
    """Returns the zone of the chosen page's brand; of the first brand for all pages."""
    if page_id in places.pages:
        return places.zone(places.pages[page_id].brand_id)
    return next((brand.timezone for brand in places.brands.values()), "UTC")


def _until(
    listed: Callable[[str | None], tuple[list[Entry], str | None]], is_past: Callable[[Entry], bool]
) -> tuple[list[Entry], bool]:
    """Reads a list of the API until it leaves the month. Returns the entries, and whether some are missing."""
    entries: list[Entry] = []
    cursor: str | None = None
    for _ in range(_TIMES):
        more, cursor = listed(cursor)
        entries += more
        if cursor is None or (more and is_past(more[-1])):
            return entries, False
    return entries, True
