"""Base classes of the generated operations: the methods that send a call, which each client implements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from posthaste.exchange import Call

T = TypeVar("T")


class Caller:
    """The base class of the synchronous client, which implements both methods. The generated operations call them."""

    def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> Iterator[Any]:
        """Yields the entries of a list: those in `field` of each answer. Sends a request only when it is needed."""
        raise NotImplementedError


class AsyncCaller:
    """The base class of the asynchronous client, which implements both methods. The generated operations call them."""

    async def _call(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _iterate(self, call: Call[Any], field: str) -> AsyncIterator[Any]:
        """Yields the entries of a list, as `Caller._iterate` does."""
        raise NotImplementedError
