"""Platforms' webhooks are passed on unchanged. They are answered with 200 only after they are stored."""

import os
import zlib
from typing import Any

import pytest

from contracts.errors import HOOK_REFUSED, NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.publishing import ReceiveHook, VerifyHook
from contracts.record import Nothing

SIGNATURE = "sha256=" + "0a" * 32


def post(client: Any, body: bytes, platform: str = "facebook", signature: str | None = SIGNATURE) -> Any:
    headers = {} if signature is None else {"X-Hub-Signature-256": signature}
    return client.post(f"/hooks/{platform}", data=body, headers=headers, content_type="application/json")


@pytest.mark.parametrize("platform", ["facebook", "instagram"])
@pytest.mark.parametrize("body", [b'{"a": "\\u00e9"}', b"", b"no json", b"\xff\x00", b"x" * 2**20])
def test_a_body_is_handed_on_byte_by_byte(client: Any, bus: Any, platform: str, body: bytes) -> None:
    bus.answers["receive_hook"] = Nothing()
    answer = post(client, body, platform)
    assert (answer.status_code, answer.data) == (200, b"")
    [(_, hook)] = bus.asked("receive_hook")
    assert isinstance(hook, ReceiveHook)
    assert (hook.platform, hook.signature, zlib.decompress(hook.deflated_body)) == (platform, SIGNATURE, body)


@pytest.mark.parametrize(
    "error", [ApiError(HOOK_REFUSED), ApiError(NOT_FOUND), ApiError(SERVICE_UNAVAILABLE)]
)
def test_what_is_not_stored_is_not_answered_200(client: Any, bus: Any, error: ApiError) -> None:
    bus.answers["receive_hook"] = error
    answer = post(client, b"{}")
    assert (answer.status_code, answer.json["code"]) == (error.row.http_status, error.code)


@pytest.mark.parametrize(
    "signature", [None, "", "sha256=", "sha1=" + "0" * 40, SIGNATURE + "0", SIGNATURE.upper()]
)
def test_what_is_no_signature_asks_nobody(client: Any, bus: Any, signature: str | None) -> None:
    answer = post(client, b"{}", signature=signature)
    assert (answer.status_code, answer.json["code"]) == (403, "HOOK_REFUSED")
    assert bus.calls == []


@pytest.mark.parametrize("body", [b"x" * (2**20 + 1), os.urandom(200_000)])
def test_what_the_bus_cannot_carry_is_too_large(client: Any, bus: Any, body: bytes) -> None:
    answer = post(client, body)
    assert (answer.status_code, answer.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert bus.calls == []


def test_no_token_is_asked_for_and_nothing_counted(client: Any, bus: Any) -> None:
    bus.answers["receive_hook"] = Nothing()
    del client.environ_base["HTTP_AUTHORIZATION"]
    assert post(client, b"{}").status_code == 200
    assert [name for name, _, _ in bus.calls] == ["receive_hook"]


CHALLENGE = {"hub.mode": "subscribe", "hub.verify_token": "secret", "hub.challenge": "<b>1158201444</b>"}


def test_the_challenge_comes_back_as_plain_text(client: Any, bus: Any) -> None:
    bus.answers["verify_hook"] = Nothing()
    answer = client.get("/hooks/instagram", query_string=CHALLENGE)
    assert (answer.status_code, answer.data) == (200, b"<b>1158201444</b>")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    [(_, asked)] = bus.asked("verify_hook")
    assert asked == VerifyHook(platform="instagram", mode="subscribe", token="secret")


@pytest.mark.parametrize("query", [CHALLENGE, {}])
def test_a_challenge_of_somebody_else_is_refused(client: Any, bus: Any, query: dict[str, str]) -> None:
    bus.answers["verify_hook"] = ApiError(HOOK_REFUSED)
    answer = client.get("/hooks/facebook", query_string=query)
    assert (answer.status_code, answer.json["code"]) == (403, "HOOK_REFUSED")


def test_stripes_address_is_its_own(client: Any, bus: Any) -> None:
    bus.answers["payment_hook"] = Nothing()
    assert client.post("/hooks/stripe", data=b"{}", headers={"Stripe-Signature": "t=1"}).status_code == 200
    assert [name for name, _, _ in bus.calls] == ["payment_hook"]
