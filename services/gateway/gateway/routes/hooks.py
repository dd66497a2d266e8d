"""Webhooks from platforms about new comments, outside the base path (docs/decisions.md, "Paths for calls from
platforms").

The body is passed on unchanged, because its signature covers the bytes. The answer is 200 only after the comments are
stored. Stripe's webhook is in `ai.py`.
"""

import re
import zlib

from msgspec import field

from contracts.errors import HOOK_REFUSED, PAYLOAD_TOO_LARGE, ApiError
from contracts.publishing import MAX_DEFLATED_HOOK_BYTES, ReceiveHook, VerifyHook
from contracts.record import Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer

_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)
#: The fastest level: such bodies compress well, and compressing a megabyte must not delay other requests.
_LEVEL = 1


class Challenge(Record):
    """The request with which Meta verifies our webhook address, before it sends any event."""

    platform: str
    mode: str = field(name="hub.mode", default="")
    token: str = field(name="hub.verify_token", default="")
    challenge: str = field(name="hub.challenge", default="")


class HookPath(Record):
    platform: str


@endpoint(
    "GET", "/hooks/{platform}", scope=None, meter="", result=None, errors=(HOOK_REFUSED,), token=False,
    outside=True,
)  # fmt: skip
def verify_hook(exchange: Exchange, request: Challenge) -> Answer:
    """Answer the verification request of a platform (facebook, instagram) with its challenge."""
    verification = VerifyHook(platform=request.platform, mode=request.mode, token=request.token)
    exchange.ask(exchange.services.publishing.verify_hook, verification)
    headers = {"X-Content-Type-Options": "nosniff"}
    return Answer(200, request.challenge.encode(), headers, "text/plain; charset=utf-8")


@endpoint(
    "POST", "/hooks/{platform}", scope=None, meter="", result=None, errors=(HOOK_REFUSED,), idempotent=False,
    token=False, outside=True,
)  # fmt: skip
def receive_hook(exchange: Exchange, request: HookPath) -> Answer:
    """Receive new comments from a platform (facebook, instagram); the signature is checked over the raw body."""
    signature = exchange.environ.get("HTTP_X_HUB_SIGNATURE_256", "").strip()
    if not _SIGNATURE.fullmatch(signature):
        raise ApiError(HOOK_REFUSED)
    deflated = zlib.compress(exchange.body, _LEVEL)
    if len(deflated) > MAX_DEFLATED_HOOK_BYTES:
        raise ApiError(PAYLOAD_TOO_LARGE)
    hook = ReceiveHook(platform=request.platform, deflated_body=deflated, signature=signature)
    exchange.ask(exchange.services.publishing.receive_hook, hook)
    return Answer(200, b"")
