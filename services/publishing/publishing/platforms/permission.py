"""Asks, at the last moment before a visible call is sent, whether the call may still be sent.

The caller of a connector sets the question with `permission`. `http_client` asks it with `check` right before it sends.
The question is not a parameter of connectors: a connector that forgot to pass it on would send after the claim was
lost.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from chassis.db import leases
from publishing.platforms.base import OutcomeUnknown


def _granted() -> None:
    """Allows every visible call that is made outside of `permission`, as tests of connectors do."""


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
    """Stops every visible call in this block after `deadline`, a `chassis.db.leases.local_deadline`. Used where the
    claim has a lease of its own.

    A stopped call raises OutcomeUnknown, because an earlier call in the block may have been sent.
    """

    def ask() -> None:
        if leases.elapsed() >= deadline:
            raise OutcomeUnknown("the claim may have lapsed before the call was sent")

    with permission(ask):
        yield


def check() -> None:
    """Calls the `ask` of `permission`, which raises an exception if no visible call may be sent any more."""
    _ask.get()()
