"""What the generated operations ask of a client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from posthaste.exchange import Call

T = TypeVar("T")


class Caller:
    """Sends calls and waits for their answers."""

    def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> Iterator[Any]:
        """Yields what `field` of each page holds. The next page is fetched when it is needed."""
        raise NotImplementedError


class AsyncCaller:
    """Sends calls and awaits their answers."""

    async def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> AsyncIterator[Any]:
        """Yields what `field` of each page holds, as `Caller` does."""
        raise NotImplementedError
