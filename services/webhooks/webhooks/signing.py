"""Signing secrets and the signatures made with them (spec "Events", Signature). No I/O."""

import hashlib
import hmac
import os
from collections.abc import Iterable

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX = "whsec_"
_SECRET_BYTES = 32
#: Characters that any 32 bytes fit in.
_LENGTH = 43


def new_secret() -> str:
    """`whsec_` and 32 random bytes in base62."""
    number, digits = int.from_bytes(os.urandom(_SECRET_BYTES)), []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_BASE62))
        digits.append(_BASE62[digit])
    return _PREFIX + "".join(reversed(digits))


def signature(secrets: Iterable[str], body: bytes) -> str:
    """The header X-Svc-Signature: one `sha256=<hex>` per secret that holds, in their order."""
    return ",".join(
        f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}" for secret in secrets
    )
