"""Signing secrets and signatures (spec "Events", Signature; decisions "Webhook signatures"). No I/O."""

import hashlib
import hmac
import secrets as randomness
from base64 import b64decode, b64encode
from collections.abc import Iterable

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX = "whsec_"
#: 44 characters of base62 are at the same time base64 of 33 bytes without padding, as every library of Standard
#: Webhooks reads it: 262 random bits, in letters and digits that no shell and no settings file changes.
_LENGTH = 44


def new_secret() -> str:
    """`whsec_` and 44 random characters of base62."""
    return _PREFIX + "".join(randomness.choice(_BASE62) for _ in range(_LENGTH))


def signature(secrets: Iterable[str], body: bytes) -> str:
    """The header X-Svc-Signature: one `sha256=<hex>` per secret that holds, in their order."""
    return ",".join(
        f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}" for secret in secrets
    )


def standard_headers(
    secrets: Iterable[str], message_id: str, unix_seconds: int, body: bytes
) -> dict[str, str]:
    """The headers of Standard Webhooks 1.0.0: one `v1,<base64>` per secret that holds, in their order.

    `message_id` is the same at every attempt, `unix_seconds` the time of this one. Source:
    github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature scheme".
    """
    signed = b".".join((message_id.encode(), str(unix_seconds).encode(), body))
    digests = (hmac.digest(_key(secret), signed, hashlib.sha256) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(unix_seconds),
        "webhook-signature": " ".join(f"v1,{b64encode(digest).decode()}" for digest in digests),
    }


def _key(secret: str) -> bytes:
    """The bytes of a secret. Those made before have 43 characters, of which the padding is left out."""
    text = secret.removeprefix(_PREFIX)
    return b64decode(text + "=" * (-len(text) % 4))
