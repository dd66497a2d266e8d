"""Answers given in time, whatever is still on its way: what a platform has not done by then goes on behind the answer.

That answer is PLATFORM_OUTCOME_UNKNOWN with the post's id, given while the gateway still waits for it. Whether the
answer or an event tells of an outcome is decided in the database (`posts.awaited_until`): before the answer is given
without the outcome, the post is marked as one that nobody waits for. If the outcome is recorded by then, it is the
answer. If the database does not answer, the mark's own time has passed: whoever records the outcome after that tells.
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
from publishing.context import House
from publishing.store.operations import Left, PostOperations

T = TypeVar("T")

#: Parts of one call on their way at once: a call with many takes no more than a quarter of `live_calls`. Our choice.
_AT_ONCE = 10
#: The answer is given after this long: before the gateway's 60 s are over. Our choice.
_ANSWER_SECONDS = 50.0
#: A part whose outcome is recorded as its time is over has so long to end: a few statements. Our choice.
_END_SECONDS = 4.0


class Answer:
    """When the answer to a part of a call is given at the latest, and about which post."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = time.monotonic() + (_ANSWER_SECONDS if seconds is None else seconds)
        #: Once the post or reply is begun: the post that the answer is about.
        self.post_id: str | None = None

    @property
    def left_seconds(self) -> float:
        """For how long the client waits yet."""
        return max(self._end - time.monotonic(), 0.0)


class Part(NamedTuple, Generic[T]):
    """A part of a call, and whose operation it is."""

    caller: Caller
    work: Callable[[Answer], T]


#: Ends the waiting of an operation's client. Raises ApiError SERVICE_UNAVAILABLE.
Leave = Callable[[Caller], Left]


def at_platform(house: House, caller: Caller, work: Callable[[Answer], T]) -> T:
    """What the work gives, which calls a platform on a turn of its account's, or raises what `run` says."""

    def on_turn(answer: Answer) -> T:
        with house.live_call(caller.account_id):
            return work(answer)

    [future] = run([Part(caller, on_turn)], partial(leave, house.database))
    return future.result()


def leave(database: Database, caller: Caller) -> Left:
    """Ends the waiting of the client of the caller's operation. Raises ApiError SERVICE_UNAVAILABLE."""
    if caller.operation_id is None:
        raise ApiError(SERVICE_UNAVAILABLE)
    with database.transaction() as connection:
        return PostOperations(connection).leave(caller.operation_id, caller.try_number)


def run(parts: Sequence[Part[T]], leave: Leave) -> list[Future[T]]:
    """All parts beside one another; futures that are done, in order, with what each part gave or raised.

    PLATFORM_OUTCOME_UNKNOWN: it goes on; SERVICE_UNAVAILABLE: its post was not begun, and will not be.
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
    """The answer to a part that has not ended; `left` None: the database does not say how it stands."""
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
