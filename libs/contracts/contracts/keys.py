"""Rotation of the keys that encrypt stored secrets. The operator makes the same call to every service that stores such
secrets."""

from contracts.record import Record


class RotateKeys(Record):
    """A request to encrypt the next few secrets with the newest key.

    `after`: the value of `next` in the last answer; empty in the first request.
    """

    after: str = ""


class KeysRotated(Record):
    """How many secrets were encrypted again.

    `unreadable`: ids of secrets that no configured key decrypts. `next`: where the next call continues; None after the
    last secret.
    """

    rotated: int
    unreadable: tuple[str, ...] = ()
    next: str | None = None
