"""AI operations: what the gateway adds to a body for the service, and the header with the credits left."""

from typing import Any

import pytest

from contracts import accounts, ai
from contracts.errors import (
    AI_GENERATION_FAILED,
    BRAND_NOT_AUTHORIZED,
    INSUFFICIENT_CREDITS,
    NOT_FOUND,
    SERVICE_UNAVAILABLE,
    VALIDATION_ERROR,
    ApiError,
)
from contracts.record import Nothing

LEFT = "X-Credits-Remaining"
BALANCE = ai.CreditsBalance(
    credits=ai.Credits(
        available=17, plan="Elite", plan_allowance=20, plan_used=3, plan_remaining=17, bonus=0, referral=0,
        next_reset_at=None,
    ),
    costs=(), packs=(), billing_url="u",
    auto_refill=ai.AutoRefill(
        available=False, enabled=False, status="off", threshold=None, amount=None, unit_credits=500,
        unit_price_usd=9.0, amounts=(),
    ),
)  # fmt: skip
CREDITS = ai.CreditsAfterCharge(charged=10, remaining=41, plan_remaining=40, bonus=1, plan="Elite")


@pytest.fixture(autouse=True)
def service(bus: Any, kit: Any) -> None:
    job = ai.AiJob(
        job_id="job_1", kind="video", status="processing", prompt="p", url=None, media_id=None, media_type="video",
        mime_type=None, size_bytes=0, credits_charged=90, params=ai.JobParams(), error=None, created_at=kit.NOW,
        completed_at=None,
    )  # fmt: skip
    result = ai.AiResult(job=job, media=None, credits=CREDITS)
    bus.answers |= {
        "generate_image": result, "edit_image": result, "generate_video": result, "get_job": result,
        "list_jobs": ai.JobList(jobs=(job,), next_cursor=None, credits_remaining=7),
        "write_caption": ai.Caption(text="t", brand_id="brd_1", words_requested=60, credits=CREDITS),
        "payment_hook": Nothing(), "get_credits": BALANCE,
        "get_brand": accounts.Brand(
            id="brd_1", name="Brand", description="d", logo=None, timezone="UTC", created_at=kit.NOW,
            image_guidelines="blue", caption_guidelines="terse",
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "left"),
    [
        ("POST", "/ai/images", {"prompt": "p"}, 201, "41"),
        ("POST", "/ai/images/edit", {"prompt": "p", "media_id": "med_1"}, 201, "41"),
        ("POST", "/ai/videos", {"prompt": "p"}, 202, "41"),
        ("POST", "/ai/captions", {"brand_id": "brd_1", "instruction": "i"}, 200, "41"),
        ("GET", "/ai/jobs", None, 200, "7"),
        ("GET", "/ai/jobs/job_1", None, 200, "41"),
    ],
)
def test_every_answer_tells_the_credits_left(
    client, method: str, path: str, body: Any, status: int, left: str
) -> None:
    response = client.open(f"/api/v1{path}", method=method, json=body)
    assert (response.status_code, response.headers[LEFT]) == (status, left)


@pytest.mark.parametrize(
    ("path", "body", "asked"),
    [("/ai/images", {"prompt": "p"}, "generate_image"), ("/ai/videos", {"prompt": "p"}, "generate_video"),
     ("/ai/captions", {"brand_id": "b", "instruction": "i"}, "write_caption")],
)  # fmt: skip
def test_the_error_for_too_few_credits_has_the_header_too(
    client, bus, path: str, body: Any, asked: str
) -> None:
    extras = {"required": 10, "available": 3, "plan_remaining": 2, "bonus": 1, "packs_url": "u"}
    bus.answers[asked] = ApiError(INSUFFICIENT_CREDITS, **extras)
    response = client.post(f"/api/v1{path}", json=body)
    assert (response.status_code, response.headers[LEFT]) == (402, "3")
    assert extras.items() <= response.json.items()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/ai/images", {"prompt": "p"}, 502),
        ("POST", "/ai/images", {"prompt": ""}, 400),
        ("POST", "/ai/images/edit", {}, 400),
        ("POST", "/ai/captions", {"brand_id": "brd_2", "instruction": "i"}, 404),
        ("GET", "/ai/jobs?limit=51", None, 400),
        ("GET", "/ai/jobs/job_2", None, 404),
    ],
)
def test_refusals_tell_the_credits_left_too(
    client, bus, method: str, path: str, body: Any, status: int
) -> None:
    bus.answers |= {
        "generate_image": ApiError(AI_GENERATION_FAILED), "get_brand": ApiError(NOT_FOUND),
        "get_job": ApiError(NOT_FOUND), "get_credits": BALANCE,
    }  # fmt: skip
    response = client.open(f"/api/v1{path}", method=method, json=body)
    assert (response.status_code, response.headers[LEFT]) == (status, "17")


def test_a_key_that_is_refused_tells_the_credits_left_too(client) -> None:
    response = client.post("/api/v1/ai/images", json={"prompt": "p"}, headers={"Idempotency-Key": ""})
    assert (response.status_code, response.headers[LEFT]) == (400, "17")


@pytest.mark.parametrize("refused", ["RATE_LIMITED", "SANDBOX_EXHAUSTED"])
@pytest.mark.parametrize(("method", "path"), [("GET", "/ai/jobs?limit=51"), ("POST", "/ai/images")])
def test_a_call_over_a_limit_does_not_ask_for_the_credits(
    client, bus, kit, method: str, path: str, refused: str
) -> None:
    bus.answers["admit"] = kit.admitted(refused_code=refused)
    response = client.open(f"/api/v1{path}", method=method)
    assert response.json["code"] == refused
    assert bus.asked("get_credits") == []


@pytest.mark.parametrize("met", [ApiError(NOT_FOUND), ValueError("a bug")])
def test_a_refusal_stands_though_nobody_knows_the_balance(client, bus, met: Exception) -> None:
    bus.answers |= {"generate_image": ApiError(AI_GENERATION_FAILED), "get_credits": met}
    response = client.post("/api/v1/ai/images", json={"prompt": "p"})
    assert (response.status_code, LEFT in response.headers) == (502, False)


def test_a_service_that_is_away_is_not_asked_again(client, bus) -> None:
    bus.answers["generate_image"] = ApiError(SERVICE_UNAVAILABLE)
    response = client.post("/api/v1/ai/images", json={"prompt": "p"})
    assert (response.status_code, LEFT in response.headers) == (503, False)
    assert bus.asked("get_credits") == []


def test_an_error_for_a_missing_scope_does_not_show_the_credits(client, bus, kit) -> None:
    bus.answers["authenticate"] = kit.identity(scopes=("read:posts",))
    response = client.post("/api/v1/ai/images", json={"prompt": "p"})
    assert (response.status_code, LEFT in response.headers) == (403, False)


def test_a_brand_brings_its_image_guidelines_and_no_brand_none(client, bus) -> None:
    client.post("/api/v1/ai/images", json={"prompt": "p", "brand_id": "brd_1", "model": "pro"})
    client.post("/api/v1/ai/videos", json={"prompt": "p", "brand_id": "brd_1", "guidelines": "mine"})
    client.post("/api/v1/ai/images", json={"prompt": "p", "guidelines": "mine"})
    image, plain = (request for _, request in bus.asked("generate_image"))
    assert image == ai.GenerateImage(prompt="p", brand_id="brd_1", model="pro", guidelines="blue")
    assert plain == ai.GenerateImage(prompt="p")
    assert bus.asked("generate_video")[0][1].guidelines == "blue"


def test_a_caption_gets_the_brands_own_words(client, bus) -> None:
    client.post("/api/v1/ai/captions", json={"brand_id": "brd_1", "instruction": "i", "words": 20})
    assert bus.asked("write_caption")[0][1] == ai.WriteCaption(
        brand_id="brd_1",
        instruction="i",
        words=20,
        brand_name="Brand",
        brand_description="d",
        guidelines="terse",
    )


@pytest.mark.parametrize(
    ("error", "status"), [(ApiError(NOT_FOUND, field="brand_id"), 404), (ApiError(BRAND_NOT_AUTHORIZED), 403)]
)
@pytest.mark.parametrize("path", ["/ai/images", "/ai/videos", "/ai/captions"])
def test_a_brand_that_is_not_theirs_is_refused_before_anything_is_spent(
    client, bus, path: str, error: ApiError, status: int
) -> None:
    bus.answers["get_brand"] = error
    body = {"prompt": "p", "instruction": "i", "brand_id": "brd_9"}
    assert client.post(f"/api/v1{path}", json=body).status_code == status
    assert bus.asked("get_brand")[0][1] == accounts.GetBrand(brand_id="brd_9", field="brand_id")
    assert not bus.asked("generate_image") + bus.asked("generate_video") + bus.asked("write_caption")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/ai/images", {"prompt": ""}, "prompt"),
        ("/ai/images", {"prompt": "p" * 2_001}, "prompt"),
        ("/ai/images", {"prompt": "p", "aspect_ratio": "2:1"}, "aspect_ratio"),
        ("/ai/images", {"prompt": "p", "model": "ultra"}, "model"),
        ("/ai/images", {"prompt": "p", "reference_image_urls": ["u"] * 4}, "reference_image_urls"),
        ("/ai/images", {"prompt": "p", "reference_media_ids": ["m"] * 4}, "reference_media_ids"),
        ("/ai/videos", {"prompt": "p", "aspect_ratio": "1:1"}, "aspect_ratio"),
        ("/ai/captions", {"brand_id": "b", "instruction": "i", "words": 9}, "words"),
        ("/ai/captions", {"brand_id": "b", "instruction": "i", "words": 301}, "words"),
    ],
)
def test_a_broken_rule_names_its_field(client, path: str, body: Any, field: str) -> None:
    response = client.post(f"/api/v1{path}", json=body)
    assert (response.status_code, response.json["code"]) == (400, VALIDATION_ERROR.code)
    assert [error["field"] for error in response.json["errors"]] == [field]


def test_a_video_is_accepted_with_where_to_look(client) -> None:
    response = client.post("/api/v1/ai/videos", json={"prompt": "p"})
    assert response.json["poll_url"] == "/api/v1/ai/jobs/job_1"
    assert response.json.keys() == {"job", "poll_url", "credits"}


def test_a_payments_call_goes_on_as_it_came(client, bus) -> None:
    del client.environ_base["HTTP_AUTHORIZATION"]
    raw = '{"id":  "evt_é"}'
    response = client.post("/hooks/stripe", data=raw.encode(), headers={"Stripe-Signature": "t=1,v1=ab"})
    assert (response.status_code, response.data) == (200, b"")
    assert bus.asked("payment_hook")[0][1] == ai.PaymentHook(
        provider="stripe", body=raw, signature="t=1,v1=ab"
    )


def test_a_payments_call_that_is_not_signed_is_a_400(client, bus) -> None:
    bus.answers["payment_hook"] = ApiError(VALIDATION_ERROR)
    assert client.post("/hooks/stripe", data=b"{}").status_code == 400
    assert client.post("/hooks/stripe", data=b"\xff").status_code == 400
    assert len(bus.asked("payment_hook")) == 1
