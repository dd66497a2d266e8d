"""Asks whether a visible call may still be sent, at the last moment before it.

The caller of a connector sets the question (`permission`); `http_client` asks it right before it sends (`check`). It is
not a parameter of the connectors: one that forgot to pass it on would send after its claim was lost.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from chassis.db import leases
from publishing.platforms.base import OutcomeUnknown


def _granted() -> None:
    """Allows every call made outside of `permission`: look-ups, tests of connectors."""


_ask: ContextVar[Callable[[], None]] = ContextVar("permission", default=_granted)


@contextmanager
def permission(ask: Callable[[], None]) -> Iterator[None]:
    """Calls `ask` before every visible call in this block; an exception of `ask` stops the call."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


@contextmanager
def permission_until(deadline: float) -> Iterator[None]:
    """Sends nothing visible after this `chassis.db.leases.local_deadline`, for a claim with a lease of its own.

    Raises OutcomeUnknown then, as an earlier call of the block may have been sent.
    """

    def ask() -> None:
        if leases.elapsed() >= deadline:
            raise OutcomeUnknown("the claim may have lapsed before the call was sent")

    with permission(ask):
        yield


def check() -> None:
    """Raises what `ask` raises: then nothing more may be sent."""
    _ask.get()()
