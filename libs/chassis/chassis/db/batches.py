"""Group commit: items that wait at the same time in this process share one transaction.

`Batches` is for callers that wait for their results. The first caller becomes the leader: it processes all waiting
items, then makes a caller that came meanwhile the next leader. There is no timer and no additional thread: a single
call runs at once, and under load more calls share a transaction.

`LaterBatches` is for items that may be lost when the process dies: their callers do not wait, and a periodic task
writes the items.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from contracts.errors import ApiError

Item = TypeVar("Item")
Result = TypeVar("Result")

#: The most calls in one transaction, which bounds how long its row locks are held. Our choice.
MAX_BATCH = 256


class _Call(Generic[Item, Result]):
    """A waiting call. Its `signal` is set when the call has a result or becomes the leader."""

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


class LaterBatches(Generic[Item]):
    """Collects items that nobody waits for, until the next `write` passes them to `run`. Thread-safe."""

    def __init__(self, run: Callable[[list[Item]], object], *, at_once: int, most: int) -> None:
        self._run = run
        self._at_once = at_once
        self._most = most
        self._waiting: deque[Item] = deque()
        self._has_items = threading.Event()

    def add(self, item: Item) -> bool:
        """Adds an item. If the queue is full (`most` items), drops the oldest and returns False. Never blocks."""
        self._waiting.append(item)
        is_full = len(self._waiting) > self._most
        if is_full:
            self._waiting.popleft()
        if not self._has_items.is_set():  # setting it again would cost more than all the rest
            self._has_items.set()
        return not is_full

    def write(self, wait_seconds: float = 0) -> int:
        """Passes all waiting items to `run`, at most `at_once` in each call, and returns how many. If none is waiting,
        waits up to `wait_seconds` for the first.

        If `run` raises ApiError, raises it too, and keeps the items of that call for the next time.
        """
        if not self._has_items.wait(wait_seconds):
            return 0
        self._has_items.clear()
        written = 0
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._at_once))]
            try:
                self._run(batch)
            except ApiError:
                self._waiting.extendleft(reversed(batch))
                self._has_items.set()
                raise
            written += len(batch)
        return written
