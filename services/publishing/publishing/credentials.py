"""Encrypts page credentials at rest (Fernet, several keys for rotation), and signs what browsers carry."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from chassis.config import ConfigError
from contracts.record import Record


class Credentials(Record, omit_defaults=True):
    """The credentials of a page; times by the database's clock. Never logged.

    At rest it is JSON; rows from before there was more than a token hold the bare token.
    """

    access_token: str
    refresh_token: str | None = None
    #: Of the access token; None: no end, or an unknown one.
    expires_at: datetime | None = None
    #: Granted; None: not known.
    scopes: tuple[str, ...] | None = None
    renewed_at: datetime | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


class UnreadableCredential(Exception):
    """The stored token was encrypted with a key that is no longer configured: the page must be linked again."""


class Vault:
    """Encrypts with the first key and decrypts with any.

    A new key is put in front; old keys may be removed once `key_rotation` has encrypted everything with it.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises ConfigError when there is no key or one is not a Fernet key (32 bytes, URL-safe base64)."""
        if not keys:
            raise ConfigError("CREDENTIAL_KEYS is empty")
        self._signing_keys = [hashlib.sha256(b"signature\0" + key.encode()).digest() for key in keys]
        try:
            fernets = [Fernet(key) for key in keys]
        except ValueError as error:
            raise ConfigError("CREDENTIAL_KEYS must be Fernet keys, comma-separated") from error
        self._newest, self._fernet = fernets[0], MultiFernet(fernets)

    def encrypt(self, token: str) -> str:
        return self._fernet.encrypt(token.encode()).decode()

    def decrypt(self, stored: str) -> str:
        """Raises UnreadableCredential."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise UnreadableCredential("no configured key reads this credential") from None

    def seal(self, value: Record) -> str:
        """Encrypts a record."""
        return self.encrypt(msgspec.json.encode(value).decode())

    def unseal(self, stored: str, kind: type[Any]) -> Any:
        """Raises UnreadableCredential."""
        try:
            return msgspec.json.decode(self.decrypt(stored), type=kind)
        except msgspec.MsgspecError:
            raise UnreadableCredential("the stored value has another format") from None

    def credentials(self, stored: str) -> Credentials:
        """Raises UnreadableCredential."""
        text = self.decrypt(stored)
        if text.startswith("{"):  # no platform's tokens do
            return msgspec.json.decode(text, type=Credentials)
        return Credentials(access_token=text)

    def sign(self, text: str) -> str:
        """Returns a signature of 43 URL-safe characters."""
        return self._signature(self._signing_keys[0], text)

    def is_signed(self, text: str, signature: str) -> bool:
        """Whether any of the keys made the signature."""
        given = signature.encode("ascii", "replace")
        fits = [hmac.compare_digest(self._signature(key, text).encode(), given) for key in self._signing_keys]
        return any(fits)

    @staticmethod
    def _signature(key: bytes, text: str) -> str:
        digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def rotate(self, stored: str) -> str | None:
        """Encrypts with the first key; returns None if it was already. Raises UnreadableCredential."""
        try:
            self._newest.decrypt(stored.encode())
        except InvalidToken:
            return self.encrypt(self.decrypt(stored))
        return None
