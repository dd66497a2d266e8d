"""The calendar: posts of a month, week or day that were published, will be published, or have failed."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from flask import Blueprint, abort, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, dates, times, words
from dashboard.periods import VIEWS, Period
from dashboard.routes.shared import Filters, recent_places
from posthaste.errors import ApiError, AuthenticationError, PosthasteError
from posthaste.records import ScheduledPost

screens = Blueprint("calendar", __name__, url_prefix="/calendar")

#: The API lists at most 100 posts at once: a period shows up to 300 that wait or failed and 300 that are out, and links
#: to the rest.
_AT_ONCE, _TIMES = 100, 3
#: State of the filter → its label; the API lists published posts by themselves.
STATES = {"queued": "Scheduled", "held": "Held", "failed": "Failed", "published": "Published"}
_NOT_OUT = "queued,held,failed"
#: States in which a post has a time that can be changed.
_MOVABLE = ("queued", "held")
#: Refusals of the API that mean something special here.
_REFUSALS = {
    "POST_IN_PROGRESS": "This post is going out right now, so it cannot be moved.",
    "NOT_FOUND": "This post is out, cancelled or gone. Load the page again.",
}


@dataclass(frozen=True)
class Entry:
    """A post as an entry of the calendar."""

    id: str
    at: datetime
    platform: str
    page_id: str
    message: str | None
    status: str
    brand_id: str
    #: What is attached, as text; the API does not list it for published posts.
    files: str = ""


@screens.get("")
def show() -> str:
    client = api.reader()
    # The zone decides where a month begins, so the brands come first.
    places = recent_places(client)()
    filters, state = Filters.of_request(places), request.args.get("state", "")
    if state not in ("", *STATES):
        abort(404)
    zone = filters.zone(places)
    now = datetime.now(UTC)
    wanted = request.args.get("day") or request.args.get("month", "")
    period = Period.read(request.args.get("view") or _first_view(), wanted, zone, now, g.dates.language)
    begin, end = period.span(request.args.get("from", ""), request.args.get("to", ""))

    def waiting() -> tuple[list[Entry], bool]:
        def listed(cursor: str | None) -> tuple[list[Entry], str | None]:
            found = client.list_scheduled_posts(
                status=state or _NOT_OUT,
                since=begin,
                until=end,
                limit=_AT_ONCE,
                cursor=cursor,
                **filters.values,
            )
            entries = [_waiting(it) for it in found.scheduled_posts]
            return entries, found.next_cursor

        return _all(listed) if state != "published" else ([], False)

    def out() -> tuple[list[Entry], bool]:
        def listed(cursor: str | None) -> tuple[list[Entry], str | None]:
            found = client.list_published_posts(
                since=begin, until=end, limit=_AT_ONCE, cursor=cursor, **filters.values
            )
            entries = [
                Entry(it.id, it.published_at, it.platform, it.page_id, it.message, "published", it.brand_id)
                for it in found.published_posts
            ]
            return entries, found.next_cursor

        return _all(listed) if begin <= now and state in ("", "published") else ([], False)

    (planned, is_cut), (published, was_cut) = api.together(waiting, out)
    days: dict[date, list[Entry]] = defaultdict(list)
    for entry in sorted([*planned, *published], key=lambda it: it.at):
        days[period.day_of(entry.at)].append(entry)
    return render_template(
        "calendar.html", period=period, days=days, places=places, filters=filters, state=state, states=STATES,
        gaps=period.gaps(days) if period.view == "week" else {}, views=VIEWS,
        today=period.day_of(now), is_part=(begin, end) != period.bounds,
        go_on_from=period.day_of(planned[-1].at) if is_cut and planned else None,
        go_back_to=period.day_of(published[-1].at) if was_cut and published else None,
    )  # fmt: skip


def _first_view() -> str:
    """Returns the view for a person who chose none. Phones name themselves "Mobi" in every browser (MDN, "Browser
    detection using the user agent", 27 November 2026), and have no room for seven days side by side.
    """
    return "list" if "Mobi" in (request.user_agent.string or "") else "month"


@screens.get("/move/<post_id>")
def move_form(post_id: str) -> str:
    """Shows the form that moves a post to another time: inside the calendar, or as a screen of its own without
    JavaScript."""
    return _move_form(post_id)


@screens.post("/move")
def move() -> str | tuple[str, int] | Response:
    """Moves a post to another time. To a script it returns the post as the calendar shows it, or a refusal as text."""
    form = request.form
    post_id, zone = form.get("post_id", ""), form.get("zone", "")
    is_part = "HX-Request" in request.headers
    try:
        moved, undo = _moved(post_id, form.get("seen_at", ""), zone)
    except times.TimeRefused as refused:
        problem, status = str(refused), 422
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status >= 500 and not is_part:
            raise
        problem, status = _REFUSALS.get(error.code, words.said(error)), error.status
    except PosthasteError:
        if not is_part:
            raise
        problem, status = "Posthaste does not answer. Load the page again to see where the post is.", 503
    else:
        if is_part:
            places = recent_places(api.reader())()
            return render_template("calendar_moved.html", entry=moved, zone=zone, undo=undo, places=places)
        month = times.local_fields(moved.at, zone)[0][:7]
        return redirect(url_for("calendar.show", month=month, done="moved"))
    return (problem, status) if is_part else (_move_form(post_id, problem), status)


def _moved(post_id: str, seen_at: str, zone: str) -> tuple[Entry, tuple[str, str]]:
    """Moves a post, and returns it with the date and time that it had before.

    Raises TimeRefused, also for a post that somebody else has moved since the calendar was loaded, and errors of the
    API.
    """
    form, client = request.form, api.writer()
    at = times.read(form.get("date", ""), form.get("time", ""), zone)
    before = client.get_post(post_id).post
    if before.scheduled_at is None:
        raise times.TimeRefused("This post has no time: it was published at once.")
    if before.scheduled_at.isoformat() != seen_at:
        there = f"{dates.shown(before.scheduled_at, zone)} {zone}"
        raise times.TimeRefused(
            f"Somebody has moved this post to {there}. Load the page again, then move it."
        )
    post = client.edit_post(post_id, scheduled_at=at, idempotency_key=form.get("key") or None).scheduled_post
    return _waiting(post), times.local_fields(before.scheduled_at, zone)


def _waiting(post: ScheduledPost) -> Entry:
    return Entry(
        post.id, post.scheduled_at, post.platform, post.page_id, post.message, post.status, post.brand_id,
        words.files(post.media),
    )  # fmt: skip


def _move_form(post_id: str, problem: str = "") -> str:
    client = api.reader()
    view, places = api.together(lambda: client.get_post(post_id), recent_places(client))
    post, zone = view.post, places.zone(view.post.brand_id)
    if post.scheduled_at is None or post.status not in _MOVABLE:
        abort(404)
    date, time = times.local_fields(post.scheduled_at, zone)
    is_part = "HX-Request" in request.headers
    return render_template(
        "calendar_form.html" if is_part else "calendar_move.html", post_id=post_id, zone=zone, message=post.message,
        seen_at=post.scheduled_at.isoformat(), date=request.form.get("date", date),
        time=request.form.get("time", time), problem=problem, in_dialog=is_part,
    )  # fmt: skip


def _all(listed: Callable[[str | None], tuple[list[Entry], str | None]]) -> tuple[list[Entry], bool]:
    """Reads a list of the API page by page (`listed`, from a cursor), up to its end or a limit. Returns the entries,
    and whether some are missing."""
    entries: list[Entry] = []
    cursor: str | None = None
    for _ in range(_TIMES):
        more, cursor = listed(cursor)
        entries += more
        if cursor is None:
            return entries, False
    return entries, True
