"""Is this delivery really from Posthaste, and what does it say? Standard library only; no HTTP, no framework.

    event = webhooks.read_event(request.get_data(), request.headers.get("X-Svc-Signature"), secret)

Everything a stranger can send raises `WebhookError`: answer 400 and forget it. What only your own code can get
wrong (text instead of bytes, an empty secret) raises TypeError or ValueError.
"""

import hmac
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

SIGNATURE_HEADER = "X-Svc-Signature"

#: Spec "Signature": one of several, separated by commas. Hex in either case.
_SIGNATURE = re.compile(r"sha256=([0-9a-fA-F]{64})", re.ASCII)
_SPACE = " \t"


class WebhookError(Exception):
    """The request is not a delivery to trust: answer 400. `reason` is one word, for logs and counters."""

    reason = "invalid"


class MissingSignature(WebhookError):
    """There is no X-Svc-Signature header, or it is empty."""

    reason = "missing_header"


class MalformedSignature(WebhookError):
    """The header holds nothing of the form sha256=<64 hex digits>."""

    reason = "malformed_header"


class SignatureMismatch(WebhookError):
    """No signature in the header is that of this body with this secret: another secret, or an altered body."""

    reason = "no_match"


class MalformedEvent(WebhookError):
    """The signature is right, but the body is not an event: it was not made by Posthaste's delivery."""

    reason = "malformed_event"


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """What a delivery says. `id` stays the same over retries and replays: remember it, and act on it once."""

    id: str
    #: Such as `post.published`.
    event: str
    created_at: datetime
    #: Its fields depend on the event.
    data: dict[str, Any]


def verify(body: bytes | bytearray | memoryview, header: str | None, secret: str) -> None:
    """Returns when one of the signatures in the header is that of `body`; during the 24 hours after a rotation
    there are several.

    `body` is the request's body as it arrived, before any parsing; `header` the value of X-Svc-Signature.
    Raises MissingSignature, MalformedSignature, SignatureMismatch; TypeError, ValueError.
    """
    expected = hmac.digest(_key(secret), _raw(body), "sha256")
    text = _text(header)
    if not text.strip(_SPACE):
        raise MissingSignature(f"The request has no {SIGNATURE_HEADER} header")
    parts = [_SIGNATURE.fullmatch(part.strip(_SPACE)) for part in text.split(",")]
    given = [bytes.fromhex(match[1]) for match in parts if match]
    if not given:
        raise MalformedSignature(f"{SIGNATURE_HEADER} holds no signature of the form sha256=<64 hex digits>")
    matches = [hmac.compare_digest(expected, one) for one in given]  # all are compared, whichever matches
    if not any(matches):
        raise SignatureMismatch(
            f"No signature in {SIGNATURE_HEADER} is that of this body: is the secret this subscription's, and the "
            "body exactly the bytes that arrived?"
        )


def read_event(body: bytes | bytearray | memoryview, header: str | None, secret: str) -> WebhookEvent:
    """The event of a delivery, once its signature is verified. Raises as `verify` does, and MalformedEvent."""
    verify(body, header, secret)
    try:
        said = json.loads(bytes(body))
        event = WebhookEvent(
            id=said["id"],
            event=said["event"],
            created_at=datetime.fromisoformat(said["created_at"]),
            data=said["data"],
        )
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedEvent("The body is not an event {id, event, created_at, data}") from error
    if not (isinstance(event.id, str) and isinstance(event.event, str) and isinstance(event.data, dict)):
        raise MalformedEvent("The body is not an event {id, event, created_at, data}")
    return event


def _raw(body: object) -> bytes | bytearray | memoryview:
    if isinstance(body, bytes | bytearray | memoryview):
        return body
    raise TypeError(
        f"Pass the raw body, the bytes as they arrived, not {type(body).__name__}: parsed or decoded and written "
        "again it is another text, with another signature (Flask: request.get_data(); Django: request.body; "
        "FastAPI: await request.body())"
    )


def _text(header: object) -> str:
    if isinstance(header, str | None):
        return header or ""
    raise TypeError(f"The header's value is text, not {type(header).__name__}")


def _key(secret: object) -> bytes:
    if not isinstance(secret, str):
        raise TypeError(
            f"The secret is the text shown when the subscription was made, not {type(secret).__name__}"
        )
    if not secret:
        raise ValueError(
            "The secret is empty: is its setting missing? Anybody could sign with an empty secret"
        )
    return secret.encode()
