"""Asking platforms for new comments, for what they do not tell by themselves or what was lost on the way.

claim → call → record: the list is read page by page, newest first, back to where it was read last; each page's comments
are taken in, and how far the reading is, in one transaction. A dead process's poll goes on there when its claim lapses.
"""

from functools import partial

import structlog
from msgspec.structs import replace

from contracts.platforms import DAY_SECONDS
from publishing.comments.received import take_in
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import House
from publishing.pages.connection import connection_to
from publishing.pages.refusals import note_refusal, rest_seconds
from publishing.platforms.base import CommentQuery, NotConnected, PlatformRefusal, Refusal
from publishing.platforms.lists import LISTING_SECONDS
from publishing.records import PageRow, Poll, Post
from publishing.rules.poll_times import POLLED, advance, back_to, begin, parse_stages, wait_before_poll
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.polls import Polls
from publishing.store.posts import Posts
from publishing.task_pool import Task

log = structlog.get_logger()

_USUAL = parse_stages(POLLED)
#: Between two ticks of the loop.
TICK_SECONDS = 0.5
#: Comments asked for at a time: the most that any platform gives.
_PER_PAGE = 100
#: Pages of one post's list in one turn: a post with 10,000 new comments takes ten turns, others come in between.
_PAGES_PER_TURN = 10
#: Longer than one page of a list can take: the last call for replies begins within their time, and one more comes
#: behind. Our choice.
_LEASE_SECONDS = LISTING_SECONDS + 2 * LONGEST_CALL_SECONDS + 30.0
#: A post that cannot be read (taken down, perhaps, or its list is not as we know it), or whose page has expired: not
#: sooner than this. Our choice.
_REFUSED_SECONDS = 3_600.0


def poll_comments(house: House) -> int:
    """One tick: claims posts that are due and starts asking; always 0, so that the loop keeps its pace."""
    most = max(int(house.settings.polls_per_second * TICK_SECONDS), 1)
    house.polling.fill("polls", partial(_claim, house), most)
    return 0


def _claim(house: House, places: int) -> list[Task]:
    with house.database.transaction() as connection:
        polls = Polls(connection).claim(places, _LEASE_SECONDS)
        posts = Posts(connection).many([poll.post_id for poll in polls])
        pages = Pages(connection).many([poll.page_id for poll in polls])
    return [partial(run_poll, house, pages[poll.page_id], posts[poll.post_id], poll) for poll in polls]


def run_poll(house: House, page: PageRow, post: Post, poll: Poll) -> None:
    """One turn of one post."""
    pause = _pause(poll)
    if pause > 0:
        _put_off(house, poll, pause)
        return
    goes_on = poll.cursor is not None  # at a place in the list that may be gone by now
    poll = begin(poll)
    for left in reversed(range(_PAGES_PER_TURN)):
        try:
            connector, account = connection_to(house, page)
            found = connector.list_comments(
                account, CommentQuery(post.remote_id or "", back_to(poll), _PER_PAGE, poll.cursor)
            )
        except PlatformRefusal as refusal:
            note_refusal(house, page, refusal)
            _put_off(
                house, _without_cursor(poll, refusal), _wait_after(house, poll, refusal, goes_on=goes_on)
            )
            return
        except NotConnected:
            _put_off(house, poll, DAY_SECONDS)
            return
        except Exception:
            log.exception("comments_failed_unforeseen", page_id=page.id, post_id=post.id)
            _put_off(
                house, replace(poll, cursor=None), _wait_after_refusal(house, poll, is_put_off=not goes_on)
            )
            return
        with house.database.transaction() as connection:
            taken = take_in(connection, page, post, found.comments)
            poll, is_done = advance(poll, found, has_news=taken.has_news)
            wait = _interval(house, poll) if is_done else _LEASE_SECONDS if left else 0.0
            holds = _save(connection, poll, wait, ended_full=is_done and poll.is_full)
        if is_done or not holds:
            return


def _pause(poll: Poll) -> float:
    """Seconds for which the page is not asked at all."""
    return _REFUSED_SECONDS if poll.expired else poll.rest_seconds or 0.0


def _interval(house: House, poll: Poll) -> float | None:
    """Until the next reading of the list; None: there is none."""
    settings = house.settings
    if poll.subscribed and settings.hears_hooks:
        return wait_before_poll(settings.polls_pushed, poll.age_seconds)
    return wait_before_poll(settings.polls.get(poll.platform, _USUAL), poll.age_seconds)


def _wait_after(house: House, poll: Poll, refusal: PlatformRefusal, *, goes_on: bool) -> float:
    if refusal.kind is Refusal.RATE_LIMITED:
        return rest_seconds(refusal)
    return _wait_after_refusal(house, poll, is_put_off=not refusal.retryable and not goes_on)


def _wait_after_refusal(house: House, poll: Poll, *, is_put_off: bool) -> float:
    """A turn that went on in the middle of the list begins at its head again, and is not put off for that."""
    least = _REFUSED_SECONDS if is_put_off else 0.0
    return max(_interval(house, poll) or _REFUSED_SECONDS, least)


def _without_cursor(poll: Poll, refusal: PlatformRefusal) -> Poll:
    """A place in the list that is refused for good is gone: from the head again."""
    return poll if refusal.retryable else replace(poll, cursor=None)


def _put_off(house: House, poll: Poll, wait_seconds: float) -> None:
    """Nothing came of it: again later, as long as the post is young enough."""
    with house.database.transaction() as connection:
        _save(connection, poll, None if _interval(house, poll) is None else wait_seconds)


def _save(
    connection: Connection, poll: Poll, wait_seconds: float | None, *, ended_full: bool = False
) -> bool:
    """False when somebody else has the poll by now, or the post is too old for another."""
    if wait_seconds is None:
        Polls(connection).end(poll)
        return False
    return Polls(connection).save(poll, wait_seconds, ended_full=ended_full)
