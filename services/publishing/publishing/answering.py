"""Answers given in time, whatever is still on its way: what a platform has not done by then goes on behind the answer.

That answer is PLATFORM_OUTCOME_UNKNOWN with the post's id, given while the gateway still waits for it. Knows nothing of
posts but their ids: who writes an outcome down asks its `Answer` whether the client still waits, and tells it if not.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from contracts.errors import PLATFORM_OUTCOME_UNKNOWN, SERVICE_UNAVAILABLE, ApiError
from publishing.house import House

T = TypeVar("T")

#: Parts of one call on their way at once: a call with many takes no more than a quarter of `live_calls`. Our choice.
_AT_ONCE = 10
#: The answer is given after this long: before the gateway's 60 s are over. Our choice.
_ANSWER_SECONDS = 50.0


class Answer:
    """What a part and whoever answers for it agree on: which of the two tells of an outcome."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_given = self._is_told = self._is_known = False
        #: The post whose outcome an answer before the part's end leaves open; None: it has not been begun.
        self.post_id: str | None = None

    def concerns(self, post_id: str) -> None:
        """Before the post is begun. Raises SERVICE_UNAVAILABLE if the client was told already that it was not."""
        with self._lock:
            if self._is_given:
                raise ApiError(SERVICE_UNAVAILABLE)
            self.post_id = post_id

    def is_given(self) -> bool:
        """As an outcome is written: whether the client waits no longer, so that an event has to tell of it."""
        with self._lock:
            self._is_told = self._is_given
            return self._is_told

    def came_first(self) -> bool:
        """Once it is written: whether the answer was given meanwhile after all, and nothing tells of the outcome."""
        with self._lock:
            self._is_known = True
            return self._is_given and not self._is_told

    def give(self) -> bool:
        """Whether the outcome is known, and its part about to end."""
        with self._lock:
            self._is_given = True
            return self._is_known


Part = Callable[[Answer], T]


def at_platform(house: House, account_id: str, part: Part[T]) -> T:
    """What the part gives, which calls a platform on a turn of its account's, or raises what `run` says."""

    def on_turn(answer: Answer) -> T:
        with house.live_call(account_id):
            return part(answer)

    [future] = run([on_turn])
    return future.result()


def run(parts: Sequence[Part[T]]) -> list[Future[T]]:
    """All parts beside one another; futures that are done, in order, with what each part gave or raised.

    PLATFORM_OUTCOME_UNKNOWN: it goes on; SERVICE_UNAVAILABLE: its post was not begun.
    """
    answers = [Answer() for _ in parts]
    executor = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="answering")
    try:
        futures = [
            executor.submit(copy_context().run, part, answer)
            for part, answer in zip(parts, answers, strict=True)
        ]
        wait(futures, timeout=_ANSWER_SECONDS)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        known = [answer.give() for answer in answers]
    wait([future for future, is_known in zip(futures, known, strict=True) if is_known])
    return [_ended(future, answer) for future, answer in zip(futures, answers, strict=True)]


def _ended(future: Future[T], answer: Answer) -> Future[T]:
    if future.done() and not future.cancelled():
        return future
    ended: Future[T] = Future()
    if answer.post_id is None:
        ended.set_exception(ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5))
    else:
        ended.set_exception(ApiError(PLATFORM_OUTCOME_UNKNOWN, post_id=answer.post_id))
    return ended
