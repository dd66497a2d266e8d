"""Encrypts answers that show a secret, before they are kept for repetitions.

The key is derived from the caller's token, of which the database has only a hash: a kept answer can be opened only by a
request with the same token.
"""

import base64
import hmac

from cryptography.fernet import Fernet


def seal(body: bytes, token: str) -> bytes:
    return _box(token).encrypt(body)


def unseal(sealed: bytes, token: str) -> bytes:
    """Raises cryptography's InvalidToken if another token sealed it."""
    return _box(token).decrypt(sealed)


def _box(token: str) -> Fernet:
    """Derives the key from the token by a plain HMAC, which is enough for 32 random bytes."""
    return Fernet(base64.urlsafe_b64encode(hmac.digest(token.encode(), b"kept answers", "sha256")))
