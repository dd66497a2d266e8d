"""Rotation of the keys that encrypt a service's stored secrets: one operator's call for all services that have some."""

from contracts.record import Record


class RotateKeys(Record):
    """Encrypts the next few secrets with the newest key. `after`: `next` of the last answer, or empty to start."""

    after: str = ""


class KeysRotated(Record):
    """`unreadable`: ids of secrets that no configured key decrypts. `next`: None at the end."""

    rotated: int
    unreadable: tuple[str, ...] = ()
    next: str | None = None
