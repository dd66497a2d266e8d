"""Makes signing secrets and signatures (spec "Events", Signature; decisions "Webhook signatures"). No I/O."""

import hashlib
import hmac
import secrets as randomness
from base64 import b64decode, b64encode
from collections.abc import Iterable

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX = "whsec_"
#: 44 characters of base62 are also valid base64 of 33 bytes without padding, which every library of Standard Webhooks
#: reads: 262 random bits in letters and digits that need no quoting in a shell or a settings file.
_LENGTH = 44


def new_secret() -> str:
    """Returns a new signing secret: `whsec_` and 44 random characters of base62."""
    return _PREFIX + "".join(randomness.choice(_BASE62) for _ in range(_LENGTH))


def signature(secrets: Iterable[str], body: bytes) -> str:
    """Returns the value of the header X-Svc-Signature: one `sha256=<hex>` per valid secret, in their order."""
    return ",".join(
        f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}" for secret in secrets
    )


def standard_headers(
    secrets: Iterable[str], message_id: str, unix_seconds: int, body: bytes
) -> dict[str, str]:
    """Returns the headers of Standard Webhooks 1.0.0. The signature has one `v1,<base64>` per valid secret, in their
    order.

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
    """Decodes a secret to the bytes with which it signs. Older secrets have 43 characters, without base64's padding."""
    text = secret.removeprefix(_PREFIX)
    return b64decode(text + "=" * (-len(text) % 4))
