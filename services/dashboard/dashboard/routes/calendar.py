"""The calendar: posts of a month, week or day that were published, will be published, or have failed."""

from collections import defaultdict
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import urlencode

from flask import Blueprint, abort, g, render_template, request
from markupsafe import Markup, escape
from werkzeug.wrappers import Response

from dashboard import api, dates, times, words
from dashboard.periods import VIEWS, Period
from dashboard.routes.shared import Filters, Places, recent_places
from posthaste.errors import ApiError, AuthenticationError, PosthasteError
from posthaste.records import CalendarPost, ScheduledPost

screens = Blueprint("calendar", __name__, url_prefix="/calendar")

#: The most that the API lists: a period shows up to 300 posts that wait or failed and 300 that are out, and links to
#: the rest.
_AT_ONCE = 300
#: As long as the API's list has texts.
_SHORT_TEXT = 280
#: Characters of a post's text in the name of its button.
_LABEL = 40
#: A name as HTML. Few pages have many posts.
_name = lru_cache(200)(escape)
#: State of the filter → its label.
STATES = {"queued": "Scheduled", "held": "Held", "failed": "Failed", "published": "Published"}
#: States in which a post has a time that can be changed.
_MOVABLE = ("queued", "held")
#: Refusals of the API that mean something special here.
_REFUSALS = {
    "POST_IN_PROGRESS": "This post is going out right now, so it cannot be moved.",
    "NOT_FOUND": "This post is out, cancelled or gone. Load the page again.",
}


class Entry(NamedTuple):
    """What the calendar shows of a post, as HTML. Computed before the template is rendered: a month has hundreds of
    posts, and calls in a template take several times as long.
    """

    post: CalendarPost
    text: Markup
    #: The beginning of the text, which names the post's button.
    label: Markup
    #: Numbers of photos and videos.
    files: str
    page: Markup
    #: Empty if it says no more than the page.
    brand: Markup
    is_movable: bool
    times: dates.InCalendar

    @classmethod
    def of(cls, post: CalendarPost, zone: str, places: Places) -> "Entry":
        """Returns a post's entry in a calendar whose days are those of `zone`."""
        page = places.page_name(post.page_id)
        brand = places.brand_name(post.brand_id) if len(places.brands) > 1 else ""
        text = post.message or "No text"
        return cls(
            post=post,
            text=escape(f"{text}…" if len(text) == _SHORT_TEXT else text),
            label=escape(text[:_LABEL]),
            files=words.attached(post.photos, post.videos) if post.photos or post.videos else "",
            page=_name(page),
            brand=_name("" if brand == page else brand),
            is_movable=post.status in _MOVABLE,
            times=dates.in_calendar(post.at, zone, places.zone(post.brand_id, zone)),
        )


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

    found = client.list_calendar_posts(
        since=begin, until=end, status=state or None, limit=_AT_ONCE, **filters.values
    )
    days: dict[date, list[Entry]] = defaultdict(list)
    for post in found.posts:
        days[period.day_of(post.at)].append(Entry.of(post, zone, places))
    go_back_to, go_on_from = found.complete_since, found.complete_until
    return render_template(
        "calendar.html", period=period, days=days, places=places, filters=filters, state=state, states=STATES,
        gaps=period.gaps(days) if period.view == "week" else {}, views=VIEWS, today=period.day_of(now),
        to=partial(_address, {"view": period.view}, {"state": state, **filters.query}),
        is_part=(begin, end) != period.bounds,
        has_other_zones=any(places.zone(it.brand_id, zone) != zone for it in found.posts),
        go_on_from=period.day_of(go_on_from) if go_on_from else None,
        go_back_to=period.day_of(go_back_to) if go_back_to else None,
    )  # fmt: skip


def _address(present: dict[str, str], choice: dict[str, str], **changed: str) -> str:
    """Returns the address of the calendar with these filters (`choice`) in a view. The parameters of the view are those
    in `present`, replaced by those in `changed`.

    url_for is not used, because it takes 40 µs and a month links to each of its days.
    """
    values = present | changed | choice
    return "/calendar?" + urlencode({name: value for name, value in values.items() if value})


def _first_view() -> str:
    """Returns the view for a person who chose none: the list on phones, which have no room for seven days side by side,
    else the month.

    Phones name themselves "Mobi" in every browser (MDN, "Browser detection using the user agent", 27 November 2026).
    """
    return "list" if "Mobi" in (request.user_agent.string or "") else "month"


@screens.get("/move/<post_id>")
def move_form(post_id: str) -> str:
    """Shows the form that moves a post to another time.

    With JavaScript it appears inside the calendar, without JavaScript as a screen of its own.
    """
    return _move_form(post_id)


@screens.post("/move")
def move() -> str | tuple[str, int] | Response:
    """Moves a post to another time.

    A script gets the post as the calendar shows it or, if the move fails, the reason as text. Without JavaScript, the
    answer is a page. After a move both contain the form that moves the post back: a redirect's address has no room for
    it.
    """
    form = request.form
    post_id, zone = form.get("post_id", ""), form.get("zone", "")
    is_part = "HX-Request" in request.headers
    try:
        moved, undo, places = _moved(post_id, form.get("seen_at", ""), zone)
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
        problem, status = "Posthaste is not responding. Load the page again to see where the post is.", 503
    else:
        if not is_part:
            return render_template("calendar_move.html", post=moved, zone=zone, undo=undo)
        shown_in = form.get("shown_in") or zone
        return render_template(
            "calendar_moved.html", post=moved, zone=zone, undo=undo, entry=Entry.of(moved, shown_in, places),
            day=times.local_fields(moved.at, shown_in)[0],
        )  # fmt: skip
    if is_part:
        return Response(problem, status, mimetype="text/plain")
    return _move_form(post_id, problem), status


def _moved(post_id: str, seen_at: str, zone: str) -> tuple[CalendarPost, tuple[str, str], Places]:
    """Moves a post to the time in the form. Returns the post, the date and time that it had before, and the person's
    pages and brands.

    All reads come before the move: a read that failed after it would hide that the post has moved. Raises TimeRefused
    for an impossible time, for a post that was published at once, and for a post that somebody else has moved since the
    calendar was loaded. Raises errors of the API too.
    """
    form, client = request.form, api.patient()
    at = times.read(form.get("date", ""), form.get("time", ""), zone)
    view, places = api.together(lambda: client.get_post(post_id), recent_places(client))
    before = view.post
    if before.scheduled_at is None:
        raise times.TimeRefused("This post has no time: it was published at once.")
    if before.scheduled_at.isoformat() != seen_at:
        there = f"{dates.shown(before.scheduled_at, zone)} {zone}"
        raise times.TimeRefused(
            f"Somebody has moved this post to {there}. Load the page again, then move it."
        )
    post = client.edit_post(post_id, scheduled_at=at, idempotency_key=form.get("key") or None).scheduled_post
    return _as_listed(post), times.local_fields(before.scheduled_at, zone), places


def _as_listed(post: ScheduledPost) -> CalendarPost:
    """Converts a post to the short form in which the API lists posts of a calendar."""
    kinds = [it.type for it in post.media]
    return CalendarPost(
        id=post.id, at=post.scheduled_at, status=post.status, platform=post.platform, page_id=post.page_id,
        brand_id=post.brand_id, message=(post.message or "")[:_SHORT_TEXT], photos=kinds.count("photo"),
        videos=kinds.count("video"),
    )  # fmt: skip


def _move_form(post_id: str, problem: str = "") -> str:
    client = api.reader()
    view, places = api.together(lambda: client.get_post(post_id), recent_places(client))
    post, zone = view.post, places.zone(view.post.brand_id)
    if post.scheduled_at is None or post.status not in _MOVABLE:
        abort(404)
    date, time = times.local_fields(post.scheduled_at, zone)
    date, time = request.form.get("date", date), request.form.get("time", time)
    is_part = "HX-Request" in request.headers
    return render_template(
        "calendar_form.html" if is_part else "calendar_move.html", post_id=post_id, zone=zone, code=post.platform,
        page_name=post.page.name, message=post.message, planned_at=post.scheduled_at,
        seen_at=post.scheduled_at.isoformat(), chosen_at=times.chosen(date, time, zone),
        date=date, time=time, problem=problem, in_dialog=is_part,
    )  # fmt: skip
