"""Encrypts stored secrets with Fernet and signs values that browsers carry; several keys allow rotation."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from contracts.keys import KeysRotated
from contracts.record import Record

R = TypeVar("R", bound=Record)

#: Secrets per call of `rotate_keys`: 25 take less than 5 ms of encryption. Our choice.
ROTATED_AT_ONCE = 25


class UnreadableSecret(Exception):
    """Raised when a stored secret cannot be read. Usually it was encrypted with a key that is not configured: add the
    key, or make a new secret.
    """


class Vault:
    """Encrypts with the first of its keys and decrypts with any.

    A new key is put first; old keys may be removed once `rotate` has encrypted everything again. `cached`: how many
    decrypted secrets are kept in memory.
    """

    def __init__(self, keys: Sequence[str], *, cached: int = 0) -> None:
        """Takes Fernet keys (32 bytes, URL-safe base64). Raises ValueError when there is none or one is malformed."""
        if not keys:
            raise ValueError("there is no key")
        fernets = [Fernet(key) for key in keys]
        self._newest, self._fernet = fernets[0], MultiFernet(fernets)
        self.decrypt = lru_cache(maxsize=cached)(self._decrypt)
        self._signing_keys = [hashlib.sha256(b"signature\0" + key.encode()).digest() for key in keys]

    def encrypt(self, secret: str) -> str:
        return self._fernet.encrypt(secret.encode()).decode()

    def _decrypt(self, stored: str) -> str:
        """Decrypts a stored secret. Raises UnreadableSecret if no configured key fits."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise UnreadableSecret("no configured key reads this secret") from None

    def seal(self, value: Record) -> str:
        """Encrypts a record as text."""
        return self.encrypt(msgspec.json.encode(value).decode())

    def unseal(self, stored: str, kind: type[R]) -> R:
        """Decrypts a record of the class `kind`. Raises UnreadableSecret if no configured key fits, or if the value is
        not such a record.
        """
        try:
            return msgspec.json.decode(self.decrypt(stored), type=kind)
        except msgspec.MsgspecError:
            raise UnreadableSecret("the stored value has another format") from None

    def rotate(self, stored: str) -> str | None:
        """Returns a stored secret encrypted with the first key; None if it is encrypted with that key already. Raises
        UnreadableSecret if no configured key fits.
        """
        try:
            self._newest.decrypt(stored.encode())
        except InvalidToken:
            return self.encrypt(self._decrypt(stored))
        return None

    def rotate_batch(
        self, batch: Sequence[tuple[str, str]], replace: Callable[[str, str, str], bool]
    ) -> KeysRotated:
        """Encrypts a batch of stored secrets with the first key. Returns how many it replaced, the ids of secrets that
        no key can decrypt, and the id after which the next batch begins (None: this was the last batch).

        `batch` holds at most `ROTATED_AT_ONCE` pairs (id, stored secret), in the order of ids.
        `replace(id, stored, fresh)` replaces a stored secret, or returns False when it has changed meanwhile.
        """
        rotated, unreadable = 0, []
        for id_, stored in batch:
            try:
                fresh = self.rotate(stored)
            except UnreadableSecret:
                unreadable.append(id_)
            else:
                rotated += fresh is not None and replace(id_, stored, fresh)
        more = batch[-1][0] if len(batch) == ROTATED_AT_ONCE else None
        return KeysRotated(rotated=rotated, unreadable=tuple(unreadable), next=more)

    def sign(self, text: str) -> str:
        """Signs a text. Returns 43 URL-safe characters."""
        return self._signature(self._signing_keys[0], text)

    def is_signed(self, text: str, signature: str) -> bool:
        """Whether one of the configured keys made the signature of the text."""
        given = signature.encode("ascii", "replace")
        fits = [hmac.compare_digest(self._signature(key, text).encode(), given) for key in self._signing_keys]
        return any(fits)

    @staticmethod
    def _signature(key: bytes, text: str) -> str:
        digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
