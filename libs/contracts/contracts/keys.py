"""Changing the keys under which a service keeps secrets: the operator's call, one for all services that have some."""

from contracts.record import Record


class RotateKeys(Record):
    """Puts the next few secrets under the newest key. `after`: the last answer's `next`; empty: from the beginning."""

    after: str = ""


class KeysRotated(Record):
    """`unreadable`: ids whose secret no configured key reads. `next`: None when there are no more."""

    rotated: int
    unreadable: tuple[str, ...] = ()
    next: str | None = None
