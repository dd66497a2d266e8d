"""Limits how much memory the calls of one process take together."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from contracts.errors import SERVICE_UNAVAILABLE, ApiError


class MemoryBudget:
    """Limits the memory that the calls of one process reserve: `total_bytes` for all accounts together.

    An account that holds nothing may reserve any size. While it holds a reservation, a further one is refused if the
    account would then hold more than half of the total.
    """

    def __init__(self, total_bytes: int, *, wait_seconds: float) -> None:
        self._total_bytes = total_bytes
        self._free_bytes = total_bytes
        self._wait_seconds = wait_seconds
        self._reserved: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def reserve(self, account_id: str, size_bytes: int) -> Iterator[Callable[[int], None]]:
        """Reserves `size_bytes` until the block ends. Yields a function that reduces the reservation to the number of
        bytes that it is given.

        A request for more than the whole budget reserves all of it, and so runs alone. Raises SERVICE_UNAVAILABLE at
        once if the account already holds memory and would exceed half of the budget, and after a wait if the memory
        does not become free in time.
        """
        reserved = min(size_bytes, self._total_bytes)
        with self._changed:

            def exceeds_share() -> bool:
                held = self._reserved[account_id]
                return held > 0 and held + reserved > self._total_bytes // 2

            is_free = self._changed.wait_for(
                lambda: exceeds_share() or reserved <= self._free_bytes, self._wait_seconds
            )
            if not is_free or exceeds_share():
                raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=5)
            self._free_bytes -= reserved
            self._reserved[account_id] += reserved

        def shrink_to(kept_bytes: int) -> None:
            nonlocal reserved
            with self._changed:
                freed = max(reserved - kept_bytes, 0)
                self._free_bytes += freed
                self._reserved[account_id] -= freed
                if not self._reserved[account_id]:
                    del self._reserved[account_id]
                reserved -= freed
                self._changed.notify_all()

        try:
            yield shrink_to
        finally:
            shrink_to(0)
