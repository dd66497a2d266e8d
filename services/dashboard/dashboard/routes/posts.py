"""The screens of posts: the list with its filters, and one post with its attempts and what a person can do about it."""

from typing import Any

from flask import Blueprint, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, times, words
from dashboard.kept import forget, kept
from dashboard.routes.shared import Filters, recent_places
from posthaste.errors import ApiError, AuthenticationError, PosthasteError
from posthaste.records import FullPost, PublishedPost, ScheduledPost

screens = Blueprint("posts", __name__, url_prefix="/posts")

#: Tab → the states that it lists; published posts have a list of their own in the API.
TABS = {
    "scheduled": ("Scheduled", "queued"),
    "attention": ("Needs attention", "failed,held"),
    "published": ("Published", ""),
    "cancelled": ("Cancelled", "cancelled"),
}
_ON_A_PAGE = 25
#: Name and time of the kept number of posts that need attention.
_ATTENTION, _ATTENTION_SECONDS = "attention", 60.0
#: What a person can do with a post in a state.
_ACTIONS = {
    "queued": ("edit", "cancel"),
    "held": ("release", "edit", "cancel"),
    "failed": ("retry", "dismiss"),
}


@screens.get("")
def index() -> str:
    tab = request.args.get("tab", "scheduled")
    if tab not in TABS:
        abort(404)
    client, cursor = api.reader(), request.args.get("after") or None
    places = recent_places(client)()
    filters = Filters.of_request(places)
    asked: dict[str, Any] = {"limit": _ON_A_PAGE, "cursor": cursor, **filters.values}
    posts: list[ScheduledPost] | list[PublishedPost]
    if tab == "published":
        out = client.list_published_posts(**asked)
        posts, after = out.published_posts, out.next_cursor
    else:
        found = client.list_scheduled_posts(status=TABS[tab][1], **asked)
        posts, after = found.scheduled_posts, found.next_cursor
    return render_template(
        "posts.html", tabs=TABS, tab=tab, posts=posts, places=places, filters=filters, after=after,
        is_first=cursor is None,
    )  # fmt: skip


@screens.get("/attention")
def attention() -> str:
    """Shows the number in the title of the tab "Needs attention": how many posts need attention. Shows nothing if there
    are none."""
    client = api.reader()

    def read() -> str:
        found = client.count_scheduled_posts()
        number = found.failed + found.held
        more = "+" if words.MOST_COUNTED in (found.failed, found.held) else ""
        return f"&nbsp;({number:,}{more})" if number else ""

    try:
        told = kept(_ATTENTION, _ATTENTION_SECONDS, read)()
    except AuthenticationError:
        raise
    except PosthasteError:  # the tab is the same without its number
        told = ""
    return f"<span>{told}</span>"


@screens.get("/<post_id>")
def show(post_id: str) -> str:
    return _shown(post_id)


@screens.get("/<post_id>/engagement")
def engagement(post_id: str) -> str | Response:
    """Asks the platform for the figures of a post, which may be slow, and shows them as a part of the post's screen. If
    too many such reads are running, the part asks again after two seconds.

    Without JavaScript, redirects to the post's screen, which then shows the figures: the API keeps what it has read.
    """
    if "HX-Request" not in request.headers:
        api.patient().get_engagement(post_id)
        return redirect(url_for("posts.show", post_id=post_id))
    platform = request.args.get("platform", "")
    with api.slow_place() as is_free:
        if not is_free:
            return render_template("post_figures.html", post_id=post_id, platform=platform, is_later=True)
        try:
            found = api.patient().get_engagement(post_id).engagement
        except ApiError as error:
            if error.status in (401, 404):
                raise
            return render_template("post_figures.html", problem=words.said(error))
    return render_template("post_figures.html", found=found)


@screens.post("/<post_id>/<action>")
def act(post_id: str, action: str) -> tuple[str, int] | Response:
    """Does `action` to a post: retries, releases, cancels or changes it, or dismisses a failed one.

    If the API refuses, the post's own screen shows the reason.
    """
    client = api.patient()
    forget(_ATTENTION)
    key = request.form.get("key") or None
    try:
        if action == "retry":
            client.retry_post(post_id, idempotency_key=key)
        elif action in ("cancel", "dismiss"):
            client.cancel_post(post_id, idempotency_key=key)
        elif action == "release":
            done = client.release_held_posts(post_ids=[post_id], past_due="now", idempotency_key=key)
            if done.refused:
                return _shown(post_id, done.refused[0].error.message), 409
        elif action == "edit":
            return _edited(post_id, key)
        else:
            abort(404)
    except ApiError as error:
        if error.status in (401, 404) or error.status >= 500:
            raise
        return _shown(post_id, words.said(error)), error.status
    return redirect(url_for("posts.show", post_id=post_id, done=action))


def _edited(post_id: str, key: str | None) -> tuple[str, int] | Response:
    form = request.form
    try:
        at = times.read(form.get("date", ""), form.get("time", ""), form.get("zone", ""))
    except times.TimeRefused as refused:
        return _shown(post_id, str(refused)), 400
    text, client = form.get("message", "").replace("\r\n", "\n"), api.patient()
    before = client.get_post(post_id).post
    client.edit_post(post_id, message=text or None, scheduled_at=at, idempotency_key=key)
    if before.scheduled_at is None or form.get("undo"):
        return redirect(url_for("posts.show", post_id=post_id, done="edit"))
    # The page itself holds what there was: an address has no room for a text, and the dashboard keeps nothing.
    return _shown(post_id, done="edit", undo=before), 200


def _shown(post_id: str, problem: str = "", *, done: str = "", undo: FullPost | None = None) -> str:
    client = api.reader()
    view, places = api.together(lambda: client.get_post(post_id), recent_places(client))
    post = view.post
    zone = places.zone(post.brand_id)
    begins = times.local_fields(post.scheduled_at, zone) if post.scheduled_at else ("", "")
    return render_template(
        "post.html", post=post, places=places, zone=zone, problem=problem, actions=actions_of(post),
        done=done or request.args.get("done", ""), begins=begins,
        form=request.form if problem else {}, figures=post.metrics, undo=undo,
    )  # fmt: skip


def actions_of(post: FullPost) -> tuple[str, ...]:
    """Returns the actions that a person can take on a post in its state, such as `retry`.

    For a post that was published at once, `edit` and `dismiss` are left out: it has no time that could be changed, and
    it is in no list of failed posts.
    """
    found = _ACTIONS.get(post.status, ())
    return tuple(it for it in found if it not in ("edit", "dismiss") or post.scheduled_at is not None)
