"""Polls platforms for new comments: on platforms without webhooks, and to find comments whose webhook was lost.

A poll reads one post's list of comments page by page, newest first, back to the newest comment of the last poll. Once a
day it reads the whole list. After each page, one transaction stores the page's comments and the position in the list. A
process claims a poll before it begins. If the process dies, another one continues at that position after the claim has
lapsed.
"""

from functools import partial

import structlog
from msgspec.structs import replace

from chassis.runtime.pool import Task
from contracts.platforms import DAY_SECONDS
from publishing.comments.received import store_comments
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import AppContext
from publishing.pages.refusals import note_refusal, rest_seconds
from publishing.platforms.base import CommentQuery, NotConnected, PlatformRefusal, Refusal
from publishing.platforms.lists import LISTING_SECONDS
from publishing.records import PageRow, Poll, Post
from publishing.rules.poll_times import POLLED, advance, back_to, begin, parse_stages, wait_before_poll
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.polls import Polls
from publishing.store.posts import Posts

log = structlog.get_logger()

_USUAL = parse_stages(POLLED)
#: Seconds between two ticks of the loop.
TICK_SECONDS = 0.5
#: Comments per page of a list: the most that any platform gives.
_PER_PAGE = 100
#: Pages read of one post in one turn: 10,000 new comments take ten turns, and other posts come in between.
_PAGES_PER_TURN = 10
#: Longer than one page of a list takes: the last call for replies begins within LISTING_SECONDS, and one more follows.
#: 30 s are left for the database.
_LEASE_SECONDS = LISTING_SECONDS + 2 * LONGEST_CALL_SECONDS + 30.0
#: The least wait after the comments of a post could not be read (the post is gone, the list has an unknown format, the
#: page has expired): an hour, because none of these passes soon.
_REFUSED_SECONDS = 3_600.0


def poll_comments(app: AppContext) -> int:
    """Claims due polls and starts them. Returns 0, so that the loop waits for its whole interval."""
    most = max(int(app.settings.polls_per_second * TICK_SECONDS), 1)
    app.polling.fill("polls", partial(_claim, app), most)
    return 0


def _claim(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        polls = Polls(connection).claim(places, _LEASE_SECONDS)
        posts = Posts(connection).many([poll.post_id for poll in polls])
        pages = Pages(connection).many([poll.page_id for poll in polls])
    return [partial(run_poll, app, pages[poll.page_id], posts[poll.post_id], poll) for poll in polls]


def run_poll(app: AppContext, page: PageRow, post: Post, poll: Poll) -> None:
    """Reads and stores up to ten pages of the comments on one post. Postpones the poll if the platform refuses."""
    pause = _pause(poll)
    if pause > 0:
        _put_off(app, poll, pause)
        return
    goes_on = poll.cursor is not None  # from a position that the platform may have forgotten
    poll = begin(poll)
    for left in reversed(range(_PAGES_PER_TURN)):
        try:
            connector, account = app.connection_to(page)
            found = connector.list_comments(
                account, CommentQuery(post.remote_id or "", back_to(poll), _PER_PAGE, poll.cursor)
            )
        except PlatformRefusal as refusal:
            note_refusal(app, page, refusal)
            _put_off(app, _without_cursor(poll, refusal), _wait_after(app, poll, refusal, goes_on=goes_on))
            return
        except NotConnected:
            _put_off(app, poll, DAY_SECONDS)
            return
        except Exception:
            log.exception("comments_failed_unforeseen", page_id=page.id, post_id=post.id)
            _put_off(app, replace(poll, cursor=None), _wait_after_refusal(app, poll, is_put_off=not goes_on))
            return
        with app.database.transaction() as connection:
            taken = store_comments(connection, page, post, found.comments)
            poll, is_done = advance(poll, found, has_news=taken.has_news)
            wait = _interval(app, poll) if is_done else _LEASE_SECONDS if left else 0.0
            holds = _save(connection, poll, wait, ended_full=is_done and poll.is_full)
        if is_done or not holds:
            return


def _pause(poll: Poll) -> float:
    """Returns for how many seconds the page must not be called: an hour if it has expired, as long as the platform asks
    if its rate is limited, otherwise 0.
    """
    return _REFUSED_SECONDS if poll.expired else poll.rest_seconds or 0.0


def _interval(app: AppContext, poll: Poll) -> float | None:
    """Returns the seconds until the next poll of a post's comments; None when the post is too old to be polled."""
    settings = app.settings
    if poll.subscribed and settings.hears_hooks:
        return wait_before_poll(settings.polls_pushed, poll.age_seconds)
    return wait_before_poll(settings.polls.get(poll.platform, _USUAL), poll.age_seconds)


def _wait_after(app: AppContext, poll: Poll, refusal: PlatformRefusal, *, goes_on: bool) -> float:
    if refusal.kind is Refusal.RATE_LIMITED:
        return rest_seconds(refusal)
    return _wait_after_refusal(app, poll, is_put_off=not refusal.retryable and not goes_on)


def _wait_after_refusal(app: AppContext, poll: Poll, *, is_put_off: bool) -> float:
    """Returns the seconds until the next poll after a failed one: the usual interval, but at least an hour if
    `is_put_off`, because an earlier poll would hardly succeed.
    """
    least = _REFUSED_SECONDS if is_put_off else 0.0
    return max(_interval(app, poll) or _REFUSED_SECONDS, least)


def _without_cursor(poll: Poll, refusal: PlatformRefusal) -> Poll:
    """Returns the poll. After a permanent refusal, removes its position in the list, so that the next poll starts at
    the top."""
    return poll if refusal.retryable else replace(poll, cursor=None)


def _put_off(app: AppContext, poll: Poll, wait_seconds: float) -> None:
    """Postpones the poll, or ends it if the post is too old."""
    with app.database.transaction() as connection:
        _save(connection, poll, None if _interval(app, poll) is None else wait_seconds)


def _save(
    connection: Connection, poll: Poll, wait_seconds: float | None, *, ended_full: bool = False
) -> bool:
    """Stores the progress of a poll and the time of the next one, or ends the poll if `wait_seconds` is None. Returns
    whether the poll continues: False if it ended or the claim was lost.

    `ended_full`: the whole list of comments has been read.
    """
    if wait_seconds is None:
        Polls(connection).end(poll)
        return False
    return Polls(connection).save(poll, wait_seconds, ended_full=ended_full)
