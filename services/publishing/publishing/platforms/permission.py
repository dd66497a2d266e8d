"""Whether a call that makes something visible may still be sent: asked at the last moment before it.

Whoever has a connector publish or comment says how to ask (`permission`); the last step before the wire asks (`check`).
Not a parameter of every connector: one that forgot to hand it on would send what its claim no longer covers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from chassis.db import leases
from publishing.platforms.base import OutcomeUnknown


def _granted() -> None:
    """Outside of `permission` nothing forbids a call: look-ups, tests of connectors."""


_ask: ContextVar[Callable[[], None]] = ContextVar("permission", default=_granted)


@contextmanager
def permission(ask: Callable[[], None]) -> Iterator[None]:
    """In this block `ask` is called right before everything visible; what it raises breaks the call off."""
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


@contextmanager
def permission_until(deadline: float) -> Iterator[None]:
    """The same for a claim with a lease of its own: nothing visible is sent after `chassis.db.leases.local_deadline`.

    It ends as OutcomeUnknown then, as something may have been sent before.
    """

    def ask() -> None:
        if leases.elapsed() >= deadline:
            raise OutcomeUnknown("the claim may have lapsed before the call was sent")

    with permission(ask):
        yield


def check() -> None:
    """Raises what `ask` raises: then nothing further may be sent."""
    _ask.get()()
