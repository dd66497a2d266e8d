"""Platforms' own calls about new comments, outside the base path (decisions "Paths of platforms' own calls").

The body goes on as it came, for its signature is over the bytes; only what is stored is answered 200. Stripe's calls
are in `ai.py`.
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
#: The fastest level: such bodies repeat themselves, and a megabyte must not hold up other requests.
_LEVEL = 1


class Challenge(Record):
    """What Meta asks before it sends anything; all of it is judged together."""

    platform: str
    mode: str = field(name="hub.mode", default="")
    token: str = field(name="hub.verify_token", default="")
    challenge: str = field(name="hub.challenge", default="")


class Told(Record):
    platform: str


@endpoint(
    "GET", "/hooks/{platform}", scope=None, meter="", request=Challenge, result=None, errors=(HOOK_REFUSED,),
    token=False, outside=True,
)  # fmt: skip
def verify_hook(exchange: Exchange, request: Challenge) -> Answer:
    """A platform (facebook, instagram) asks whether this address is ours: its challenge comes back."""
    asked = VerifyHook(platform=request.platform, mode=request.mode, token=request.token)
    exchange.ask(exchange.services.publishing.verify_hook, asked)
    headers = {"X-Content-Type-Options": "nosniff"}
    return Answer(200, request.challenge.encode(), headers, "text/plain; charset=utf-8")


@endpoint(
    "POST", "/hooks/{platform}", scope=None, meter="", request=Told, result=None, errors=(HOOK_REFUSED,),
    idempotent=False, token=False, outside=True,
)  # fmt: skip
def receive_hook(exchange: Exchange, request: Told) -> Answer:
    """A platform (facebook, instagram) tells of new comments; its signature is checked over the body as it came."""
    signature = exchange.environ.get("HTTP_X_HUB_SIGNATURE_256", "").strip()
    if not _SIGNATURE.fullmatch(signature):
        raise ApiError(HOOK_REFUSED)
    deflated = zlib.compress(exchange.body, _LEVEL)
    if len(deflated) > MAX_DEFLATED_HOOK_BYTES:
        raise ApiError(PAYLOAD_TOO_LARGE)
    told = ReceiveHook(platform=request.platform, deflated_body=deflated, signature=signature)
    exchange.ask(exchange.services.publishing.receive_hook, told)
    return Answer(200, b"")
