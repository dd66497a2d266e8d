"""The browser in which a person logs in at a platform, known by a random key in its cookie. Pure.

The key is never stored. Its hash names the browser, in the OAuth state and in the row of the link session. The accounts
that the login finds are encrypted with the key until the person agrees: the database and all keys of this server do not
suffice to read them.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken

from chassis.vault import UnreadableSecret

_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Browser:
    """A person's browser, known by the key in its cookie (`contracts.publishing.ViewLink`)."""

    key: str = field(repr=False)

    @classmethod
    def of(cls, key: str) -> "Browser | None":
        """Returns the browser with this key; None if the key is missing or malformed."""
        return cls(key) if _KEY.fullmatch(key) else None

    @property
    def id(self) -> str:
        """Returns the public name of the browser: SHA-256 (hex) of its key."""
        return hashlib.sha256(self.key.encode()).hexdigest()

    def has_id(self, id_: str | None) -> bool:
        return hmac.compare_digest(self.id.encode(), (id_ or "").encode())

    def lock(self, text: str) -> str:
        """Encrypts a text so that only this browser's key can decrypt it."""
        return self._fernet().encrypt(text.encode()).decode()

    def unlock(self, locked: str) -> str:
        """Decrypts a text. Raises UnreadableSecret if it was encrypted for another browser."""
        try:
            return self._fernet().decrypt(locked.encode()).decode()
        except InvalidToken:
            raise UnreadableSecret("this browser's key does not read the text") from None

    def _fernet(self) -> Fernet:
        # A derived key, because the id, which is public, is made of the key itself.
        derived = hmac.new(self.key.encode(), b"accounts found", hashlib.sha256).digest()
        return Fernet(base64.urlsafe_b64encode(derived))
