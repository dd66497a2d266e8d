"""The inbox: comments of visitors under the posts, and replies to them.

Comments are read live from the platforms. The comments of a post are therefore loaded only when its card comes into
view. Posts are sorted by the time of their newest comment, newest first. A post without comments has its time of
publishing instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from flask import Blueprint, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.platforms import recent_platforms
from dashboard.routes.shared import Filters, Places, recent_brands, recent_places
from dashboard.threads import Thread, answered_so_far, threads
from posthaste.errors import ApiError, AuthenticationError, NoAnswer, PosthasteError
from posthaste.records import CommentList

screens = Blueprint("comments", __name__, url_prefix="/comments")

#: State of the filter → its label.
STATES = {"open": "Unanswered", "answered": "Answered", "all": "All"}
#: Posts on a page. Each costs a read of the account's limits when it comes into view.
_ON_A_PAGE = 8
#: Comments of a post at once; a button loads earlier ones.
_COMMENTS = 50
#: Answered comments that a link to earlier ones names: 60 ids of 30 characters keep it below 2 KB, half of what servers
#: take at least. One beyond them waits, though it is answered.
_NAMED = 60

Answer = str | tuple[str, int] | Response


@dataclass(frozen=True)
class Found:
    """A part of the conversations under a post, newest first (`threads`), or the reason why they cannot be read now
    (`problem`). The other fields say how this part is joined to the earlier and later ones.
    """

    threads: list[Thread] = field(default_factory=list)
    problem: str = ""
    #: Where the earlier ones begin; empty: there are none.
    after: str = ""
    #: For the link to the earlier ones: ids of comments among them that were answered, with dots between them.
    answered: str = ""
    #: Whether later ones were shown before.
    is_rest: bool = False


@screens.get("")
def index() -> str:
    state, client, cursor = _state(), api.reader(), request.args.get("after") or None
    places, platforms = api.together(recent_places(client), recent_platforms(client))
    filters = replace(Filters.of_request(places), search="")  # the API does not search the list by activity
    found = client.list_published_posts(
        sort="activity", with_comments=True, limit=_ON_A_PAGE, cursor=cursor, **filters.values
    )
    return render_template(
        "comments.html", posts=found.published_posts, places=places, filters=filters, state=state, states=STATES,
        after=found.next_cursor, is_first=cursor is None,
        # Behind a filter by page or platform, the brand's other comments stay unread.
        reads=cursor is None and state != "answered" and not (filters.page or filters.platform),
        silent=sorted(
            words.PLATFORMS[code] for code in {it.platform for it in places.pages.values()}
            if not platforms[code].comments
        ),
    )  # fmt: skip


@screens.get("/of/<post_id>")
def of_post(post_id: str) -> Answer:
    """Shows the conversations under one post: with JavaScript as a part of the inbox, without JavaScript as a screen of
    its own. If too many reads from platforms are running, the part of the inbox asks again after two seconds.
    """
    client, read = api.reader(), _reading(post_id)
    if "HX-Request" not in request.headers:
        view, brands, comments = api.together(lambda: client.get_post(post_id), recent_brands(client), read)
        post = view.post
        found = _found(comments, post.platform)
        return render_template("comments_of.html", post=post, found=found, threads=found.threads, state="all",
                               zone=Places({}, brands).zone(post.brand_id))  # fmt: skip
    page_id = request.args.get("page", "")
    places = recent_places(client)()
    page = places.pages.get(page_id)
    with api.slow_place() as is_free:
        if not is_free:
            return render_template("comments_later.html", page=page)
        found = _found(read(), page.platform if page else "")
    state = _state()
    shown = [it for it in found.threads if _fits(it, state)]
    return render_template("comment_threads.html", post_id=post_id, page_id=page_id, threads=shown, found=found,
                           others=sum(_fits(it, "open") for it in found.threads if it not in shown), state=state,
                           zone=places.zone(page.brand_id) if page else "UTC")  # fmt: skip


@screens.post("/read")
def mark_read() -> Answer:
    """Records that the person has read all comments of a brand, or of all brands, that were received until a given
    time. The script of the inbox sends this time. It is the time at which the server last listed the posts.
    """
    try:
        read_until = datetime.fromisoformat(request.form.get("read_until", ""))
    except ValueError:
        abort(400)
    api.reader().mark_comments_read(read_until=read_until, brand_id=request.form.get("brand_id") or None)
    return "", 204


@screens.post("/of/<post_id>/reply")
def reply(post_id: str) -> Answer:
    """Replies to a comment. If that fails, shows the form again with the reason and what was typed.

    The API call has the idempotency key that is in the form: if the button is pressed twice, one reply is written.
    """
    form = request.form
    comment_id, page_id = form.get("comment_id", ""), form.get("page_id", "")
    text = form.get("message", "").replace("\r\n", "\n").strip()
    problem, status = "", 200
    try:
        api.patient().reply_to_comment(
            page_id=page_id, comment_id=comment_id, message=text, idempotency_key=form.get("key") or None
        )
    except AuthenticationError:
        raise
    except ApiError as error:
        problem = (
            words.said(error) if error.status < 500 else f"{words.said(error)} Your answer is kept here."
        )
        status = error.status
    except PosthasteError as error:
        status = 503
        problem = "Posthaste is not responding. Your answer is kept here: send it again in a moment."
        if isinstance(error, NoAnswer):
            problem = "No answer came. Send it again in a moment: it is written only once."
    return _replied(post_id, comment_id, page_id, text, problem), status


@screens.post("/of/<post_id>/settled")
def settle(post_id: str) -> Answer:
    """Records that the last comment of a conversation needs no reply or, with `undo`, that it may need one after all.

    With JavaScript, shows the form below the conversation again, without JavaScript all comments on the post.
    """
    form, is_part = request.form, "HX-Request" in request.headers
    is_settled, problem, status = "undo" not in form, "", 200
    client = api.patient()
    change = client.settle_comment if is_settled else client.reopen_comment
    try:
        change(form.get("latest_id", ""))
    except AuthenticationError:
        raise
    except PosthasteError as error:
        if not is_part:
            raise
        is_settled, problem, status = not is_settled, _said(error), 503
        if isinstance(error, ApiError):
            status = error.status
    if not is_part:
        after, answered = (request.args.get(name) or None for name in ("after", "answered"))
        return redirect(url_for("comments.of_post", post_id=post_id, after=after, answered=answered))
    return render_template(
        "comment_reply.html", post_id=post_id, comment_id=form.get("comment_id", ""), page_id=form.get("page_id", ""),
        text=form.get("message", ""), problem=problem, is_settled=is_settled,
    ), status  # fmt: skip


def _replied(post_id: str, comment_id: str, page_id: str, text: str, problem: str) -> str:
    name = "comment_reply.html" if "HX-Request" in request.headers else "comment_replied.html"
    return render_template(
        name, post_id=post_id, comment_id=comment_id, page_id=page_id, text=text, problem=problem,
        is_sent=not problem, is_settled="settled" in request.form,
    )  # fmt: skip


def _said(error: PosthasteError) -> str:
    if isinstance(error, ApiError):
        return words.said(error)
    return "Posthaste is not responding. Try again in a moment."


def _reading(post_id: str) -> Callable[[], CommentList | PosthasteError]:
    """Returns a function that reads up to 50 comments under a post from the API. It may run in any thread.

    The function returns the comments or, if the call fails, its error. If the session has ended, it raises the error.
    """
    # Longer than a read waits: the platform may be slow, and the API's answer says so.
    client, cursor = api.patient(), request.args.get("after") or None

    def read() -> CommentList | PosthasteError:
        try:
            return client.list_comments(post_id=post_id, limit=_COMMENTS, cursor=cursor)
        except AuthenticationError:
            raise
        except PosthasteError as error:
            return error

    return read


def _found(comments: CommentList | PosthasteError, platform: str) -> Found:
    """Returns the conversations in these comments, or the reason why they could not be read."""
    if isinstance(comments, ApiError):
        said = words.said(comments)
        if platform and comments.code == "PLATFORM_ERROR":
            said = f"Comments could not be loaded. {words.PLATFORMS[platform]} says: {words.with_code(said)}"
        return Found(problem=said)
    if isinstance(comments, PosthasteError):
        return Found(problem=_said(comments))
    before = list(filter(None, request.args.get("answered", "").split(".")))
    found = threads(comments.comments, before)
    return Found(
        found, after=comments.next_cursor or "", answered=".".join(answered_so_far(found, before)[:_NAMED]),
        is_rest=bool(request.args.get("after")),
    )  # fmt: skip


def _fits(thread: Thread, state: str) -> bool:
    if state == "all":
        return True
    return thread.is_answered if state == "answered" else thread.waits


def _state() -> str:
    state = request.args.get("state", "open")
    if state not in STATES:
        abort(404)
    return state
