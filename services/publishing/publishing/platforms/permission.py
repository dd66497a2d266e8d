"""Whether a call that makes something visible may still be sent: asked at the last moment before it.

Whoever has a connector publish or comment says how to ask (`permission`); the last step before the wire asks (`check`).
Not a parameter of every connector: one that forgot to hand it on would send what its claim no longer covers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


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


def check() -> None:
    """Raises what `ask` raises: then nothing further may be sent."""
    _ask.get()()
