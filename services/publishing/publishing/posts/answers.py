"""Answers clients in time. If a platform takes longer than a client waits, the client gets PLATFORM_OUTCOME_UNKNOWN
with the post's id, and the call to the platform goes on.

A post is stored with the time until which its client waits (`posts.awaited_until`). Just before the client gets
PLATFORM_OUTCOME_UNKNOWN, that time is removed from the post's row, so that an event will report the outcome. If the
outcome is stored already, the client gets the outcome instead. If the database is down, the time stays in the row; an
outcome that is stored after that time is reported by an event as well.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from chassis.db.database import Database
from contracts.caller import Caller
from contracts.errors import PLATFORM_OUTCOME_UNKNOWN, SERVICE_UNAVAILABLE, ApiError, ErrorRow
from publishing.context import AppContext
from publishing.store.operations import Left, PostOperations

T = TypeVar("T")

#: Parts of one call in progress at once: a call for many pages takes at most a quarter of `live_calls`. Our choice.
_AT_ONCE = 10
#: When the answer is given at the latest: the gateway waits 60 s, and the outcome may have to be marked first.
_ANSWER_SECONDS = 50.0
#: How long a part whose outcome was stored just in time may take to end. It has a few statements left.
_END_SECONDS = 4.0


class Answer:
    """How long the client still waits for one part of its call, and the id of the post or reply that the part has
    begun.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._end = time.monotonic() + (_ANSWER_SECONDS if seconds is None else seconds)
        #: Set once the post or reply is begun.
        self.post_id: str | None = None

    @property
    def left_seconds(self) -> float:
        """How many seconds the client still waits."""
        return max(self._end - time.monotonic(), 0.0)


class Part(NamedTuple, Generic[T]):
    """One part of a client's call, such as the post on one page. `caller` has the part's own operation id; `work` is
    the function to run."""

    caller: Caller
    work: Callable[[Answer], T]


#: The function `leave` without its database.
Leave = Callable[[Caller], Left]


def at_platform(app: AppContext, caller: Caller, work: Callable[[Answer], T]) -> T:
    """Runs `work`, which calls a platform while its client waits, in one of the account's slots for such calls. Returns
    its result or raises its error. If it takes too long, raises PLATFORM_OUTCOME_UNKNOWN, or SERVICE_UNAVAILABLE if
    nothing was begun."""

    def on_turn(answer: Answer) -> T:
        with app.live_call(caller.account_id):
            return work(answer)

    [future] = run([Part(caller, on_turn)], partial(leave, app.database))
    return future.result()


def leave(database: Database, caller: Caller) -> Left:
    """Stores that the client no longer waits for the outcome of the caller's operation. Tries that have made nothing so
    far can make nothing any more. Returns the operation's state. Raises SERVICE_UNAVAILABLE if the database does not
    answer, or if the call has no operation id.
    """
    if caller.operation_id is None:
        raise ApiError(SERVICE_UNAVAILABLE)
    with database.transaction() as connection:
        return PostOperations(connection).leave(caller.operation_id, caller.try_number)


def run(parts: Sequence[Part[T]], leave: Leave) -> list[Future[T]]:
    """Runs all parts in parallel. Returns a finished future for each part, in order, with what the part returned or
    raised.

    A part may take _ANSWER_SECONDS. If it takes longer and its post or reply is stored, it goes on, and its future
    raises PLATFORM_OUTCOME_UNKNOWN. If its post or reply is not stored by then, `leave` makes sure that it never will
    be, and the future raises SERVICE_UNAVAILABLE.
    """
    answers = [Answer() for _ in parts]
    executor = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="answering")
    try:
        futures = [
            executor.submit(copy_context().run, part.work, answer)
            for part, answer in zip(parts, answers, strict=True)
        ]
        wait(futures, timeout=_ANSWER_SECONDS)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
    ended = []
    is_away = False
    for part, answer, future in zip(parts, answers, futures, strict=True):
        if future.done():
            ended.append(_failed(SERVICE_UNAVAILABLE) if future.cancelled() else future)
            continue
        try:
            left = None if is_away else leave(part.caller)
        except ApiError:  # one long wait is enough
            left, is_away = None, True
        ended.append(_ended(future, answer, left))
    return ended


def _ended(future: Future[T], answer: Answer, left: Left | None) -> Future[T]:
    """Returns a finished future for a part that takes too long: the part's own future if the part has ended meanwhile,
    otherwise a future that raises an error. `left`: the state of the part's operation; None when the database is down.
    """
    if left is not None and left.is_begun and left.post_id is None:
        wait([future], timeout=_END_SECONDS)
    if future.done():
        return future
    post_id = answer.post_id if left is None else left.post_id
    if post_id is None:
        return _failed(SERVICE_UNAVAILABLE, retry_after_seconds=5)
    return _failed(PLATFORM_OUTCOME_UNKNOWN, post_id=post_id)


def _failed(row: ErrorRow, **extras: Any) -> Future[Any]:
    ended: Future[Any] = Future()
    ended.set_exception(ApiError(row, **extras))
    return ended
