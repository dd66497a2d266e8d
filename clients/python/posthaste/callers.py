"""Base classes of the generated operations: the methods that send a call, which each client implements."""

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
        """Yields the entries in `field` of each page. Fetches the next page when it is needed."""
        raise NotImplementedError


class AsyncCaller:
    """Sends calls and awaits their answers."""

    async def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> AsyncIterator[Any]:
        """Yields the entries in `field` of each page, as `Caller` does."""
        raise NotImplementedError
