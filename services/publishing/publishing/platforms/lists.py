"""Lists that come page by page, and how far they are read: by pages always, replies to comments by time as well.

A look-up proves something, and fails where its list goes on. Comments are shown as far as they are read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import TypeVar

from publishing.platforms.base import PlatformRefusal, Refusal

Row = TypeVar("Row")

#: Since a page of comments was asked for: from then on no more replies are. Its reader waits 30 s. Our choice.
LISTING_SECONDS = 20.0


class Endless(PlatformRefusal):
    """A list that goes on past what is read of one: whether something is missing there, nobody knows."""

    def __init__(self) -> None:
        super().__init__(Refusal.TRANSIENT, "TOO_MANY", "The platform's list does not end.")


class OutOfTime(Endless):
    """What is left of a list is another call's."""


def listing_ends() -> float:
    """When a list of comments that begins now asks for no more replies, of `time.monotonic`."""
    return monotonic() + LISTING_SECONDS


def pages_read(most: int, until: float | None = None) -> Iterator[int]:
    """The numbers of a list's pages, from 0. Raises Endless behind the last of them, OutOfTime when it is `until`."""
    for number in range(most):
        if until is not None and monotonic() >= until:
            raise OutOfTime
        yield number
    raise Endless


def threads_read(rows: Sequence[Row], replies: Callable[[Row], Iterable[Row]]) -> list[tuple[Row, list[Row]]]:
    """Comments with their replies, up to the first whose replies are out of time: the next page begins with that.

    At the head of a page it is shown with what is read of it: the same page would end there for ever.
    """
    threads: list[tuple[Row, list[Row]]] = []
    for row in rows:
        read: list[Row] = []
        try:
            for reply in replies(row):
                read.append(reply)  # noqa: PERF402 - what was read before an end is kept
        except Endless as end:
            if isinstance(end, OutOfTime) and threads:
                break
        threads.append((row, read))
    return threads
