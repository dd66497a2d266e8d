"""Standard Webhooks: every shared test vector, a comparison with the official library, and mistakes of the calling
code.
"""

import json
import time
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import webhooks as foreign

from posthaste import webhooks

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "standard_webhooks.json").read_text(encoding="utf-8")
)["vectors"]
SECRET = "whsec_7hQz0Xc5LbN2mVt8RkYp3WdJf6Hs1AeGuT4oIiEj9CvB"
BODY = json.dumps(
    {"id": "evt_1", "event": "post.failed", "created_at": "2026-11-20T11:58:09.847Z", "data": {"attempts": 4}}
)


def vectors(*names: str) -> list[Any]:
    """Returns the test vectors that have all of these fields."""
    return [pytest.param(one, id=one["name"]) for one in VECTORS if all(name in one for name in names)]


def signed(body: str = BODY, age_seconds: float = 0.0) -> dict[str, str]:
    """Returns the headers of a delivery that the official library signed `age_seconds` ago."""
    at = datetime.fromtimestamp(time.time() - age_seconds, UTC)
    signature = foreign.Webhook(SECRET).sign("evt_1", at, body)
    timestamp = str(int(at.timestamp()))
    return {"webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": signature}


def result_of(body: bytes, headers: Any, secret: str, **options: Any) -> str:
    try:
        webhooks.verify_delivery(body, headers, secret, **options)
    except webhooks.WebhookError as error:
        assert str(error)
        return error.reason
    return "valid"


def test_the_vectors_are_of_every_kind() -> None:
    kinds = {"valid", "missing_header", "malformed_header", "no_match", "timestamp_out_of_tolerance"}
    assert {vector["result"] for vector in VECTORS} == kinds
    assert len(VECTORS) >= 40


@pytest.mark.parametrize("vector", vectors())
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_vector_has_its_result(vector: dict[str, Any], kind: Any) -> None:
    options = {"now": vector["now"]}
    if "tolerance_seconds" in vector:
        options["tolerance_seconds"] = vector["tolerance_seconds"]
    body = kind(vector["body"].encode())
    for headers in (vector["headers"], {name.title(): value for name, value in vector["headers"].items()}):
        assert result_of(body, headers, vector["secret"], **options) == vector["result"]


@pytest.mark.parametrize("vector", [one for one in vectors() if "libraries_differ" not in one.values[0]])
def test_the_foreign_library_agrees(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.fromtimestamp(vector["now"], tz)

    monkeypatch.setattr(foreign, "datetime", Clock)
    try:
        foreign.Webhook(vector["secret"]).verify(vector["body"], vector["headers"], json_parse=False)
    except (foreign.WebhookVerificationError, ValueError):  # ValueError: it cannot take the signature apart
        assert vector["result"] != "valid"
    else:
        assert vector["result"] == "valid"


@pytest.mark.parametrize("vector", vectors("signed_with"))
def test_the_foreign_library_signs_the_same(vector: dict[str, Any]) -> None:
    headers = vector["headers"]
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    signatures = [
        foreign.Webhook(secret).sign(headers["webhook-id"], at, vector["body"])
        for secret in vector["signed_with"]
    ]
    assert " ".join(signatures) == headers["webhook-signature"]


def test_what_the_foreign_library_signs_now_is_read() -> None:
    message = Message()  # as http.server has headers
    for name, value in signed().items():
        message[name] = value
    for headers in (signed(), message):
        event = webhooks.read_delivery(BODY.encode(), headers, SECRET)
        assert (event.id, event.event, event.data) == ("evt_1", "post.failed", {"attempts": 4})


def test_a_delivery_of_ten_minutes_ago_is_refused_by_the_machines_clock() -> None:
    body, headers = BODY.encode(), signed(age_seconds=600)
    assert result_of(body, headers, SECRET) == "timestamp_out_of_tolerance"
    assert result_of(body, headers, SECRET, tolerance_seconds=900) == "valid"


def test_a_signed_body_that_is_no_event_is_refused() -> None:
    with pytest.raises(webhooks.MalformedEvent):
        webhooks.read_delivery(b"[]", signed("[]"), SECRET)


def test_a_body_that_is_not_raw_is_told_what_to_pass() -> None:
    with pytest.raises(TypeError, match="Pass the raw body"):
        webhooks.verify_delivery(BODY, signed(), SECRET)  # type: ignore[arg-type]


@pytest.mark.parametrize("headers", [None, "v1,AAAA", [], signed() | {"webhook-id": b"evt_1"}])
def test_headers_are_all_of_them_and_text(headers: Any) -> None:
    with pytest.raises(TypeError, match="header"):
        webhooks.verify_delivery(BODY.encode(), headers, SECRET)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_=", "whsec_a", "whsec_ä", "whsec_not base64!"])
def test_a_secret_that_is_not_base64_verifies_nothing(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        webhooks.verify_delivery(BODY.encode(), signed(), secret)


@pytest.mark.parametrize("secret", [None, b"whsec_test"])
def test_a_secret_is_text(secret: Any) -> None:
    with pytest.raises(TypeError, match="secret"):
        webhooks.verify_delivery(BODY.encode(), signed(), secret)
