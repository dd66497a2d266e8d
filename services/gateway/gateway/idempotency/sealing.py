"""Answers that tell a secret are kept for repetitions sealed with the token they went to.

The database knows a token's hash alone, so what it keeps opens only for who sends that token again.
"""

import base64
import hmac

from cryptography.fernet import Fernet


def seal(body: bytes, token: str) -> bytes:
    return _box(token).encrypt(body)


def unseal(sealed: bytes, token: str) -> bytes:
    """Raises InvalidToken (of cryptography) for what another token sealed."""
    return _box(token).decrypt(sealed)


def _box(token: str) -> Fernet:
    """A token's 32 random bytes need no stretching."""
    return Fernet(base64.urlsafe_b64encode(hmac.digest(token.encode(), b"kept answers", "sha256")))
