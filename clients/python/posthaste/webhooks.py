"""Verifies that a webhook delivery comes from Posthaste, and parses its event. No HTTP, no framework.

    event = webhooks.read_delivery(request.get_data(), request.headers, secret)

A delivery carries two kinds of signatures. `read_delivery` and `verify_delivery` check the headers of Standard
Webhooks. These headers sign a timestamp, so a recorded delivery that somebody sends again later is refused.
`read_event` and `verify` check X-Svc-Signature, which has no timestamp.

A forged or damaged request raises `WebhookError`: answer 400. A mistake in your own code (text instead of bytes, an
empty secret) raises TypeError or ValueError.
"""

import hmac
import json
import re
import time
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from posthaste.encoding import parse_timestamp

SIGNATURE_HEADER = "X-Svc-Signature"
#: The headers of Standard Webhooks.
ID_HEADER, TIMESTAMP_HEADER, STANDARD_SIGNATURE_HEADER = (
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
)
#: How far the signed timestamp may be from the receiver's clock: the figure of the standardwebhooks libraries.
TOLERANCE_SECONDS = 300

#: Spec "Signature": one of several, separated by commas. Hex in either case.
_SIGNATURE = re.compile(r"sha256=([0-9a-fA-F]{64})", re.ASCII)
_SPACE = " \t"
#: Of webhook-signature: one of several, separated by spaces; those of other versions are passed over.
_STANDARD_SIGNATURE = re.compile(r"v1,([A-Za-z0-9+/]{43}=)", re.ASCII)
#: Visible ASCII without the full stop, which separates the parts that are signed.
_MESSAGE_ID = re.compile(r"[!-\-/-~]+", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)
_KEY_PREFIX = "whsec_"


class WebhookError(Exception):
    """The request is not a delivery to trust: answer 400. `reason` is one word, for logs and counters."""

    reason = "invalid"


class MissingSignature(WebhookError):
    """A header is missing or empty: X-Svc-Signature, or one of the three headers of Standard Webhooks."""

    reason = "missing_header"


class MalformedSignature(WebhookError):
    """A header does not have its expected form. X-Svc-Signature holds `sha256=<64 hex digits>`, webhook-signature holds
    `v1,<base64>`, and webhook-timestamp holds Unix seconds."""

    reason = "malformed_header"


class SignatureMismatch(WebhookError):
    """No signature in the header fits this body and this secret. The secret is another one, or the body was altered."""

    reason = "no_match"


class TimestampOutOfTolerance(WebhookError):
    """The signature is right, but its timestamp is too old or in the future: somebody sends a recorded delivery
    again, or a clock is wrong."""

    reason = "timestamp_out_of_tolerance"


class MalformedEvent(WebhookError):
    """The signature is right, but the body is not an event of Posthaste. Something else signed it with the secret."""

    reason = "malformed_event"


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """The event in a delivery. `id` stays the same over retries and replays: store it, and act on it once."""

    id: str
    #: The name of the event, such as `post.published`.
    event: str
    created_at: datetime
    #: Its fields depend on the event.
    data: dict[str, Any]


class Headers(Protocol):
    """All headers of a request: a dict, or the headers object of Flask, Django, Starlette or http.server."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def verify(body: bytes | bytearray | memoryview, header: str | None, secret: str) -> None:
    """Verifies a delivery by its header X-Svc-Signature. Returns if the header contains the signature of `body` with
    this secret. For 24 hours after the secret was rotated, the header contains two signatures; one must be right.

    `body` is the request's body as it arrived, before any parsing. `header` is the value of X-Svc-Signature. Raises
    MissingSignature, MalformedSignature or SignatureMismatch for a request that may be forged, and TypeError or
    ValueError for a mistake of the calling code.
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


def verify_delivery(
    body: bytes | bytearray | memoryview,
    headers: Headers,
    secret: str,
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> None:
    """Verifies a delivery by the headers of Standard Webhooks. Returns if both are true: webhook-signature contains the
    right signature of id, timestamp and body, and the timestamp is at most `tolerance_seconds` before or after now.

    `body` is the request's body as it arrived, before any parsing. `headers` are all headers of the request, in upper
    or lower case. `now` is the receiver's time in Unix seconds, by default this machine's. Raises MissingSignature,
    MalformedSignature, SignatureMismatch or TimestampOutOfTolerance for a request that may be forged, and TypeError or
    ValueError for a mistake of the calling code.
    """
    key, raw = _standard_key(secret), _raw(body)
    message_id, timestamp, signatures = _standard_headers(headers)
    given = [
        b64decode(match[1]) for match in map(_STANDARD_SIGNATURE.fullmatch, signatures.split(" ")) if match
    ]
    if not given:
        raise MalformedSignature(f"{STANDARD_SIGNATURE_HEADER} holds no signature of the form v1,<base64>")
    if not (_MESSAGE_ID.fullmatch(message_id) and _TIMESTAMP.fullmatch(timestamp)):
        raise MalformedSignature(
            f"{ID_HEADER} is not an id, or {TIMESTAMP_HEADER} is not a number of Unix seconds"
        )
    expected = hmac.digest(key, b".".join((message_id.encode(), timestamp.encode(), raw)), "sha256")
    matches = [hmac.compare_digest(expected, one) for one in given]  # all are compared, whichever matches
    if not any(matches):
        raise SignatureMismatch(
            f"No signature in {STANDARD_SIGNATURE_HEADER} is that of this body, {ID_HEADER} and {TIMESTAMP_HEADER}: "
            "is the secret this subscription's, and the body exactly the bytes that arrived?"
        )
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_seconds:
        raise TimestampOutOfTolerance(
            f"The delivery was signed at {timestamp} (Unix seconds), more than {tolerance_seconds:g} seconds from now: "
            "is this machine's clock right?"
        )


def read_delivery(
    body: bytes | bytearray | memoryview,
    headers: Headers,
    secret: str,
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> WebhookEvent:
    """Verifies a delivery with `verify_delivery`, and returns its event. Raises the errors of `verify_delivery`, and
    MalformedEvent if the body is not an event.
    """
    verify_delivery(body, headers, secret, tolerance_seconds=tolerance_seconds, now=now)
    return _event(body)


def read_event(body: bytes | bytearray | memoryview, header: str | None, secret: str) -> WebhookEvent:
    """Verifies a delivery with `verify`, and returns its event. Raises the errors of `verify`, and MalformedEvent if
    the body is not an event.
    """
    verify(body, header, secret)
    return _event(body)


def _event(body: bytes | bytearray | memoryview) -> WebhookEvent:
    """Parses the body of an event. Raises MalformedEvent for any other body."""
    try:
        said = json.loads(bytes(body))
        event = WebhookEvent(
            id=said["id"],
            event=said["event"],
            created_at=parse_timestamp(said["created_at"]),
            data=said["data"],
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
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


def _standard_headers(headers: Headers) -> tuple[str, str, str]:
    """Returns the values of the three headers of Standard Webhooks: id, timestamp and signatures.

    Raises MissingSignature if one of them is missing, and TypeError if `headers` is no mapping.
    """
    if not hasattr(headers, "items"):
        raise TypeError(f"Pass all of the request's headers, not {type(headers).__name__}")
    given = {str(name).lower(): value for name, value in headers.items()}
    names = (ID_HEADER, TIMESTAMP_HEADER, STANDARD_SIGNATURE_HEADER)
    message_id, timestamp, signatures = found = [_text(given.get(name)) for name in names]
    for name, text in zip(names, found, strict=True):
        if not text.strip(_SPACE):
            raise MissingSignature(f"The request has no {name} header")
    return message_id, timestamp, signatures


def _standard_key(secret: object) -> bytes:
    """Returns the HMAC key that a secret contains in base64. The prefix `whsec_` and the padding may be missing. Raises
    ValueError if the secret is not such a text.
    """
    text = _key(secret).decode().removeprefix(_KEY_PREFIX).rstrip("=")
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        key = b""
    if not key:
        raise ValueError("The secret is not the text shown when the subscription was made: whsec_ and base64")
    return key


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
