"""Bounds how far a platform's lists are read: every list by its number of pages, replies to comments by time as well.

A look-up is a proof, so it fails where its list goes on. A list of comments shows as much as was read.
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
    """The list goes on past the pages that we read, so nobody knows whether something is missing in it."""

    def __init__(self) -> None:
        super().__init__(Refusal.TRANSIENT, "TOO_MANY", "The platform's list does not end.")


class OutOfTime(ListTooLong):
    """The rest of the list is read by the next call."""


def listing_ends() -> float:
    """Returns when a list of comments that begins now asks for no more replies, in `time.monotonic`."""
    return monotonic() + LISTING_SECONDS


def page_numbers(most: int, until: float | None = None) -> Iterator[int]:
    """Yields the numbers of a list's pages, from 0. Raises ListTooLong after the last, OutOfTime past `until`."""
    for number in range(most):
        if until is not None and monotonic() >= until:
            raise OutOfTime
        yield number
    raise ListTooLong


def threads_read(rows: Sequence[Row], replies: Callable[[Row], Iterable[Row]]) -> list[tuple[Row, list[Row]]]:
    """Returns comments with their replies, up to the first whose replies ran out of time: the next page begins there.

    The first row of a page is returned with the replies read so far, else the same page would end there for ever.
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
