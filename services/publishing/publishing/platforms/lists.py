"""Limits how far the lists of a platform are read.

Every list is limited by its number of pages, and replies to comments by time as well. A look-up must have read the
whole list, so it fails if the list goes on after the last page that we read. A list of comments shows the part that was
read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import TypeVar

from publishing.platforms.base import PlatformRefusal, Refusal

Row = TypeVar("Row")

#: How long after the request of a page of comments its replies are still asked for: the client of GET /comments waits
#: 30 s, and the last call needs time too.
LISTING_SECONDS = 20.0


class ListTooLong(PlatformRefusal):
    """Raised when the list goes on after the last page that we read, so that something may be missing."""

    def __init__(self) -> None:
        super().__init__(Refusal.TRANSIENT, "TOO_MANY", "The platform's list does not end.")


class OutOfTime(ListTooLong):
    """Raised when the time for reading the list has run out. The next call reads the rest."""


def listing_ends() -> float:
    """Returns until when replies may be read for a page of comments requested now: a time by `time.monotonic`."""
    return monotonic() + LISTING_SECONDS


def page_numbers(most: int, until: float | None = None) -> Iterator[int]:
    """Yields the numbers of a list's pages, from 0. Raises ListTooLong after `most` pages, OutOfTime after `until`, a
    time by `time.monotonic`."""
    for number in range(most):
        if until is not None and monotonic() >= until:
            raise OutOfTime
        yield number
    raise ListTooLong


def threads_read(rows: Sequence[Row], replies: Callable[[Row], Iterable[Row]]) -> list[tuple[Row, list[Row]]]:
    """Returns comments with their replies. If the time runs out while a comment's replies are read, stops before that
    comment: the next page begins with it.

    The first comment is always returned, with the replies read so far: otherwise no page would ever get past it. A
    comment with too many replies also has those read so far.
    """
    threads: list[tuple[Row, list[Row]]] = []
    for row in rows:
        read: list[Row] = []
        try:
            for reply in replies(row):
                read.append(reply)  # noqa: PERF402 - keeps what was read before an exception
        except ListTooLong as end:
            if isinstance(end, OutOfTime) and threads:
                break
        threads.append((row, read))
    return threads
