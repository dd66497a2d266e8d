"""Page credentials at rest: Fernet, several keys for rotation."""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from chassis.config import ConfigError


class UnreadableCredential(Exception):
    """The stored token was encrypted with a key that is no longer configured: the page must be linked again."""


class Vault:
    """Encrypts with the first key, reads with any: a new key is put in front, old ones go when all is re-linked."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises ConfigError when there is no key or one is not a Fernet key (32 bytes, URL-safe base64)."""
        if not keys:
            raise ConfigError("CREDENTIAL_KEYS is empty")
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise ConfigError("CREDENTIAL_KEYS must be Fernet keys, comma-separated") from error

    def encrypt(self, token: str) -> str:
        return self._fernet.encrypt(token.encode()).decode()

    def decrypt(self, stored: str) -> str:
        """Raises UnreadableCredential."""
        try:
            return self._fernet.decrypt(stored.encode()).decode()
        except InvalidToken:
            raise UnreadableCredential("no configured key reads this credential") from None

    def rotate(self, stored: str) -> str:
        """The same token under the first key. Raises UnreadableCredential."""
        return self.encrypt(self.decrypt(stored))
