"""The format of API tokens: prefix, 32 random bytes in base62, CRC-32 checksum (docs/decisions.md, "Token").

No I/O. The accounts service creates tokens and finds them by hash; the gateway refuses malformed ones without a call.
"""

import hashlib
import secrets
import zlib
from collections.abc import Iterable

#: Spec "Authentication" 3 and 7.
LIVE_PREFIX = "svc_live_"
SANDBOX_PREFIX = "svc_test_"
#: decisions "Sessions".
SESSION_PREFIX = "svc_sess_"
#: decisions: the legacy live prefix is configuration; both accounts and the gateway default to this one.
DEFAULT_LEGACY_PREFIX = "sk_live_"
#: How much of a token its metadata shows (decisions: api_key.prefix).
SHOWN_LENGTH = 12

SECRET_BYTES = 32
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHARACTERS = frozenset(_ALPHABET)
#: 62^43 > 2^256 and 62^6 > 2^32: fixed widths, so that a token always has the same length.
_SECRET_LENGTH = 43
_CHECK_LENGTH = 6


def make_token(prefix: str, secret: bytes | None = None) -> str:
    """Creates a token from `secret` (32 bytes), or from new random bytes."""
    number = int.from_bytes(secrets.token_bytes(SECRET_BYTES) if secret is None else secret)
    body = prefix + _base62(number, _SECRET_LENGTH)
    return body + _check(body)


def looks_valid(token: str, prefixes: Iterable[str]) -> bool:
    """Whether the token has one of the prefixes, and a valid length, alphabet and checksum."""
    for prefix in prefixes:
        rest = token[len(prefix) :]
        if (
            token.startswith(prefix)
            and len(rest) == _SECRET_LENGTH + _CHECK_LENGTH
            and _CHARACTERS.issuperset(rest)
            and token[-_CHECK_LENGTH:] == _check(token[:-_CHECK_LENGTH])
        ):
            return True
    return False


def hash_token(token: str) -> str:
    """Returns SHA-256 in hex, the only stored form of a token. Its 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def _check(body: str) -> str:
    """Returns the checksum of `body`, which is a token's prefix and secret. So a token whose prefix was replaced is
    malformed.
    """
    return _base62(zlib.crc32(body.encode()), _CHECK_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
