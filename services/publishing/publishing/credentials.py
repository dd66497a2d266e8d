"""Encrypts page credentials at rest (Fernet, several keys for rotation), and signs values that browsers carry."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from chassis.vault import UnreadableSecret, Vault
from contracts.record import Record


class Credentials(Record, omit_defaults=True):
    """The credentials of a page. Times are by the database's clock. Never logged.

    Stored as encrypted JSON; rows written by old releases hold the encrypted token alone.
    """

    access_token: str
    refresh_token: str | None = None
    #: When the access token expires; None: never, or not known.
    expires_at: datetime | None = None
    #: The granted scopes; None: not known.
    scopes: tuple[str, ...] | None = None
    #: The app that issued them, where a platform has several (`Login.app_name`); None: the only one, or not known.
    app: str | None = None
    renewed_at: datetime | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"


class CredentialVault(Vault):
    """A vault that also encrypts records and signs texts."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(keys)
        self._signing_keys = [hashlib.sha256(b"signature\0" + key.encode()).digest() for key in keys]

    def seal(self, value: Record) -> str:
        """Encrypts a record."""
        return self.encrypt(msgspec.json.encode(value).decode())

    def unseal(self, stored: str, kind: type[Any]) -> Any:
        """Decrypts a record of the class `kind`. Raises UnreadableSecret."""
        try:
            return msgspec.json.decode(self.decrypt(stored), type=kind)
        except msgspec.MsgspecError:
            raise UnreadableSecret("the stored value has another format") from None

    def credentials(self, stored: str) -> Credentials:
        """Decrypts a page's credentials. Raises UnreadableSecret."""
        text = self.decrypt(stored)
        if text.startswith("{"):  # no platform's tokens do
            return msgspec.json.decode(text, type=Credentials)
        return Credentials(access_token=text)

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
