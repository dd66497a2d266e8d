"""The verifier of webhooks: every shared test vector, mistakes of the calling code, and the event in a verified
body.
"""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from posthaste import webhooks

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "webhook_signatures.json").read_text(encoding="utf-8")
)["vectors"]
SECRET = "whsec_test"


def body_of(vector: dict[str, Any]) -> bytes:
    return base64.b64decode(vector["body_base64"]) if "body_base64" in vector else vector["body"].encode()


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def said(**changes: Any) -> bytes:
    event = {
        "id": "evt_1",
        "event": "post.failed",
        "created_at": "2026-11-20T11:58:09.847Z",
        "data": {"attempts": 4},
    }
    return json.dumps(event | changes).encode()


def test_the_vectors_are_of_every_kind() -> None:
    results = [vector["result"] for vector in VECTORS]
    assert {"valid", "missing_header", "malformed_header", "no_match"} == {*results}
    assert len(VECTORS) >= 40


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_vector_has_its_result(vector: dict[str, Any], kind: Any) -> None:
    try:
        webhooks.verify(kind(body_of(vector)), vector["header"], vector["secret"])
    except webhooks.WebhookError as error:
        assert error.reason == vector["result"]
        assert str(error)
    else:
        assert vector["result"] == "valid"


@pytest.mark.parametrize("body", ['{"id": "evt_1"}', {"id": "evt_1"}, None, ["x"]])
def test_a_body_that_is_not_raw_is_told_what_to_pass(body: Any) -> None:
    with pytest.raises(TypeError, match="Pass the raw body"):
        webhooks.verify(body, sign(b"{}"), SECRET)


def test_an_empty_secret_verifies_nothing() -> None:
    with pytest.raises(ValueError, match="empty"):
        webhooks.verify(b"", sign(b"", ""), "")


@pytest.mark.parametrize("secret", [None, b"whsec_test"])
def test_a_secret_is_text(secret: Any) -> None:
    with pytest.raises(TypeError, match="The secret is the text"):
        webhooks.verify(b"", sign(b""), secret)


def test_a_header_is_text() -> None:
    with pytest.raises(TypeError, match="header"):
        webhooks.verify(b"", sign(b"").encode(), SECRET)  # type: ignore[arg-type]


def test_a_hundred_thousand_spaces_in_a_header_take_no_time() -> None:
    with pytest.raises(webhooks.MalformedSignature):
        webhooks.verify(b"", "sha256=" + " " * 100_000 + "x", SECRET)


def test_a_verified_body_is_an_event() -> None:
    event = webhooks.read_event(said(), sign(said()), SECRET)
    assert (event.id, event.event, event.data) == ("evt_1", "post.failed", {"attempts": 4})
    assert event.created_at == datetime(2026, 11, 20, 11, 58, 9, 847_000, tzinfo=UTC)


def test_an_event_with_fields_of_a_later_version_is_read() -> None:
    assert webhooks.read_event(said(later=1), sign(said(later=1)), SECRET).id == "evt_1"


def test_a_body_that_is_not_verified_is_not_read() -> None:
    with pytest.raises(webhooks.SignatureMismatch):
        webhooks.read_event(b"not JSON", sign(b"other"), SECRET)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"\xff", b"{}", said(id=7), said(event=None), said(created_at="soon"), said(created_at=1),
     said(data=[]), said(data=None)],
)  # fmt: skip
def test_a_signed_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(webhooks.MalformedEvent):
        webhooks.read_event(body, sign(body), SECRET)
