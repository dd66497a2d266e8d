"""Encryption of stored signing secrets: Fernet, several keys for rotation."""

from collections.abc import Sequence
from functools import lru_cache

import structlog
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from chassis.config import ConfigError

log = structlog.get_logger()


class Vault:
    """Encrypts with the first key, decrypts with any.

    A new key is put first; old ones are removed once `key_rotation` has encrypted everything again.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises ConfigError when there is no key or one is not a Fernet key (32 bytes, URL-safe base64)."""
        if not keys:
            raise ConfigError("WEBHOOK_SECRET_KEYS is empty")
        try:
            fernets = [Fernet(key) for key in keys]
        except ValueError as error:
            raise ConfigError("WEBHOOK_SECRET_KEYS must be Fernet keys, comma-separated") from error
        self._newest, self._fernet = fernets[0], MultiFernet(fernets)
        self.decrypt = lru_cache(maxsize=4_096)(self._decrypt)

    def encrypt(self, secret: str) -> str:
        return self._fernet.encrypt(secret.encode()).decode()

    def rotate(self, stored: str) -> str | None:
        """Encrypts a stored secret with the first key; None if it is already. Raises UnreadableSecret."""
        try:
            self._newest.decrypt(stored.encode())
        except InvalidToken:
            return self.encrypt(self._decrypt(stored))
        return None

    def _decrypt(self, stored: str) -> str:
        """Raises UnreadableSecret."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise UnreadableSecret("no configured key reads this secret") from None


class UnreadableSecret(Exception):
    """The stored secret was encrypted with a key that is not configured: add the key, or rotate the secret."""
