"""Group commit: calls that wait at the same time in this process share one transaction.

The first caller becomes the leader: it processes all waiting items, then makes a caller that came meanwhile the next
leader. There is no timer and no additional thread: a single call runs at once, and under load more calls share a
transaction.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from contracts.errors import ApiError

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The most calls in one transaction, which bounds how long its row locks are held. Our choice.
MAX_BATCH = 256


class _Call(Generic[Item, Result]):
    """One waiting call. Its `signal` is released when it has a result or becomes the leader."""

    __slots__ = ("error", "item", "leads", "result", "signal")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.result: Result
        self.error: BaseException | None = None
        self.leads = False
        self.signal = threading.Lock()
        self.signal.acquire()


class Batches(Generic[Item, Result]):
    """Collects the items of concurrent callers and passes them to `run`, one batch at a time.

    `run` returns one result per item, in order.
    """

    def __init__(self, run: Callable[[list[Item]], list[Result]]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._waiting: list[_Call[Item, Result]] = []
        self._is_led = False

    def submit(self, item: Item) -> Result:
        """Adds `item` to the next batch and waits. Returns the item's result, or raises the error of `run`."""
        call: _Call[Item, Result] = _Call(item)
        with self._lock:
            self._waiting.append(call)
            call.leads, self._is_led = not self._is_led, True
        if not call.leads:
            self._wait(call)
        if call.leads:
            self._lead()
        if call.error is not None:
            raise call.error
        return call.result

    def _wait(self, call: _Call[Item, Result]) -> None:
        try:
            call.signal.acquire()
        except BaseException:  # the worker was killed: another call must become the leader
            with self._lock:
                if call in self._waiting:
                    self._waiting.remove(call)
                if call.leads:
                    self._pass_lead()
            raise

    def _lead(self) -> None:
        with self._lock:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
        try:
            self._decide(batch)
        finally:
            for call in batch:
                call.signal.release()
            with self._lock:
                self._pass_lead()

    def _pass_lead(self) -> None:
        self._is_led = bool(self._waiting)
        if self._waiting:
            self._waiting[0].leads = True
            self._waiting[0].signal.release()

    def _decide(self, batch: list[_Call[Item, Result]]) -> None:
        try:
            for call, result in zip(batch, self._run([call.item for call in batch]), strict=True):
                call.result = result
        except BaseException as error:
            if len(batch) > 1 and isinstance(error, Exception) and not isinstance(error, ApiError):
                for call in batch:  # one item is invalid, and the others must not fail with it
                    self._decide([call])
                return
            for call in batch:
                call.error = error
            if not isinstance(error, Exception):
                raise
