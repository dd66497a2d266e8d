"""Decides how often the comments of a post are polled, and where in the list of comments a reading begins. Pure."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from publishing.platforms.base import CommentPage
from publishing.records import Poll

#: (age, interval) in seconds: posts younger than `age` are polled every `interval`; posts older than the last age
#: never.
Stages = tuple[tuple[float, float], ...]

#: A minute on the first day (local-stack.md "Waiting times"); then rarer, because older posts get fewer comments.
#: Platforms that count every call against a quota have stages of their own (`polls` of the plugin).
POLLED = "86400=60,259200=300,1209600=3600,2592000=86400"
#: For platforms that send webhooks about comments: polls only find comments whose webhook was lost, so they are rare.
PUSHED = "86400=900,259200=3600,2592000=86400"

#: A platform may list a comment some time after its `created_at`; every reading goes back this much further, which
#: covers clocks that differ and delays of some minutes.
OVERLAP = timedelta(minutes=10)
#: The whole list is read once a day: it finds comments that the platform held back, and replies to old comments.
#: Our choice.
FULL_SECONDS = 86_400.0
#: No setting means more seconds than this.
_ENDLESS = 1e9


def parse_stages(text: str) -> Stages:
    """Parses polling intervals, written `age=interval,…` in seconds: a post younger than the age is polled at the
    interval. An empty text means that no post is polled.

    Raises ValueError unless the ages rise and the intervals are positive.
    """
    pairs = [pair.split("=") for pair in text.split(",") if pair.strip()]
    stages = tuple((float(age), float(wait)) for age, wait in pairs)
    ages = [age for age, _ in stages]
    if not all(0 < value < _ENDLESS for stage in stages for value in stage) or ages != sorted(set(ages)):
        raise ValueError("ages must rise, and intervals be positive")
    return stages


def back_to(poll: Poll) -> datetime | None:
    """Returns the time back to which the list of comments is read; None if all of it is read."""
    return None if poll.is_full or poll.since is None else poll.since - OVERLAP


def wait_before_poll(stages: Stages, age_seconds: float) -> float | None:
    """Returns the seconds until the next poll of a post of this age; None when it is too old."""
    return next((wait for age, wait in stages if age_seconds < age), None)


def begin(poll: Poll) -> Poll:
    """Returns the poll as its next reading of the comments begins. The reading continues at the position where the last
    one stopped, or begins at the top of the list. At the top, also decides whether the whole list will be read.
    """
    if poll.cursor is not None:
        return poll
    is_full = poll.since is None or poll.full_seconds is None or poll.full_seconds >= FULL_SECONDS
    return replace(poll, newest=None, is_full=is_full)


def advance(poll: Poll, found: CommentPage, *, has_news: bool) -> tuple[Poll, bool]:
    """Returns the poll after one more page of the list (newest first), and whether that was the last page to read.
    `has_news`: whether one of the comments on it is new (`StoredComments.has_news`)."""
    times = [comment.created_at for comment in found.comments]
    newest = max((time for time in (poll.newest, *times) if time is not None), default=None)
    is_behind = poll.since is not None and all(time <= poll.since for time in times)
    # The list is sorted: a page of old comments without news ends the reading, unless the whole list is read.
    if found.next_cursor is not None and (poll.is_full or has_news or not is_behind):
        return replace(poll, newest=newest, cursor=found.next_cursor), False
    since = max((time for time in (poll.since, newest) if time is not None), default=None)
    return replace(poll, since=since, newest=None, cursor=None), True
