"""Encrypts stored answers that contain a secret.

The key is derived from the caller's token, of which the database has only a hash. So only a request with the same
token can decrypt a stored answer.
"""

import base64
import hmac

from cryptography.fernet import Fernet


def seal(body: bytes, token: str) -> bytes:
    return _box(token).encrypt(body)


def unseal(sealed: bytes, token: str) -> bytes:
    """Decrypts a sealed answer. Raises cryptography's InvalidToken if it was sealed with another token."""
    return _box(token).decrypt(sealed)


def _box(token: str) -> Fernet:
    """Returns the cipher for a token. Its key is a plain HMAC, which is enough for a token of 32 random bytes."""
    return Fernet(base64.urlsafe_b64encode(hmac.digest(token.encode(), b"kept answers", "sha256")))
