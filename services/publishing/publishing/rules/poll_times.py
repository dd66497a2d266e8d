"""How often a post's comments are asked for, as data and pure functions; and how one reading of the list goes on."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from publishing.platforms.base import CommentPage
from publishing.records import Poll

#: (younger than so many seconds, asked for every so many seconds); older than the last: no more.
Stages = tuple[tuple[float, float], ...]

#: local-stack.md "Waiting times": a minute in the first day; the rest is our choice.
#: Platforms that count every look are asked less often: `polls` of their parts.
POLLED = "86400=60,259200=300,1209600=3600,2592000=86400"
#: Where the platform tells us by itself, polls only find what its word was lost of. Our choice.
PUSHED = "86400=900,259200=3600,2592000=86400"

#: A platform's list may show a comment later than its time says. Our choice.
OVERLAP = timedelta(minutes=10)
#: The list is read from end to end this often: finds what was held back, or answers an old comment. Our choice.
FULL_SECONDS = 86_400.0
#: No setting means so many seconds.
_ENDLESS = 1e9


def parse_stages(text: str) -> Stages:
    """`age=wait,…` in seconds; empty: never. Raises ValueError: ages must rise, waits be more than nothing."""
    pairs = [pair.split("=") for pair in text.split(",") if pair.strip()]
    stages = tuple((float(age), float(wait)) for age, wait in pairs)
    ages = [age for age, _ in stages]
    if not all(0 < value < _ENDLESS for stage in stages for value in stage) or ages != sorted(set(ages)):
        raise ValueError("ages must rise, and waits be more than nothing")
    return stages


def back_to(poll: Poll) -> datetime | None:
    """Returns how far back the list is asked for; None: all of it."""
    return None if poll.is_full or poll.since is None else poll.since - OVERLAP


def wait_before_poll(stages: Stages, age_seconds: float) -> float | None:
    """Seconds until the next poll of a post of this age; None when it is too old."""
    return next((wait for age, wait in stages if age_seconds < age), None)


def begin(poll: Poll) -> Poll:
    """The poll as it asks for its next page: in the middle of the list, or at its head again."""
    if poll.cursor is not None:
        return poll
    is_full = poll.since is None or poll.full_seconds is None or poll.full_seconds >= FULL_SECONDS
    return replace(poll, newest=None, is_full=is_full)


def advance(poll: Poll, found: CommentPage, *, has_news: bool) -> tuple[Poll, bool]:
    """The poll after a page of the list, newest first, and whether that was the last to be read."""
    times = [comment.created_at for comment in found.comments]
    newest = max((time for time in (poll.newest, *times) if time is not None), default=None)
    is_behind = poll.since is not None and all(time <= poll.since for time in times)
    # Behind a page that brings nothing new lies nothing new, save in the full reading.
    if found.next_cursor is not None and (poll.is_full or has_news or not is_behind):
        return replace(poll, newest=newest, cursor=found.next_cursor), False
    since = max((time for time in (poll.since, newest) if time is not None), default=None)
    return replace(poll, since=since, newest=None, cursor=None), True
