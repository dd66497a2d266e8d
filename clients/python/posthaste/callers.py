"""The base classes of the generated operations. They declare the methods that send a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from posthaste.exchange import Call

T = TypeVar("T")


class Caller:
    """Declares the two methods with which generated operations send calls. The synchronous client implements them."""

    def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> Iterator[Any]:
        """Yields the entries of a list that comes in pages. Each answer holds the entries of one page in `field`.
        Requests the next page only when its entries are needed."""
        raise NotImplementedError


class AsyncCaller:
    """Declares the methods of `Caller` for asyncio. The asynchronous client implements them."""

    async def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> AsyncIterator[Any]:
        """Yields the entries of a list, as `Caller._iterate` does."""
        raise NotImplementedError
