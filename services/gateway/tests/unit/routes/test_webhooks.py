"""Webhook operations: the calls to the service, which brands a body may name, and the shape of answers."""

from datetime import timedelta
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from msgspec import UNSET

from contracts import accounts, quota, webhooks
from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    LIMIT_REACHED,
    NOT_FOUND,
    SERVICE_UNAVAILABLE,
    VALIDATION_ERROR,
    ApiError,
)
from contracts.record import Nothing
from gateway.openapi.description import describe
from gateway.routes import ENDPOINTS

BODY = {"name": "n", "url": "https://example.com/hook", "events": ["post.published"]}
DELIVERIES = "/webhooks/whk_1/deliveries"


@pytest.fixture(autouse=True)
def service(bus: Any, kit: Any) -> None:
    subscription = webhooks.Subscription(
        id="whk_1", name="n", url=BODY["url"], events=("post.published",), brand_ids=("brd_1",), status="active",
        disabled_reason=None, consecutive_failures=0, last_delivery_at=kit.NOW, created_at=kit.NOW,
    )  # fmt: skip
    attempt = webhooks.Attempt(
        at=kit.NOW + timedelta(milliseconds=847), status_code=500, duration_ms=12, error="status", answer="no"
    )
    delivery = webhooks.Delivery(
        id="dlv_1", event_id="evt_1", event="post.published", status="pending", attempts=(attempt,),
        next_attempt_at=kit.NOW, created_at=kit.NOW,
    )  # fmt: skip
    bus.answers |= {
        "create_subscription": webhooks.CreatedSubscription(
            **msgspec.structs.asdict(subscription), secret="whsec_1"
        ),
        "list_subscriptions": webhooks.SubscriptionList(webhooks=(subscription,), next_cursor="c"),
        "get_subscription": subscription,
        "edit_subscription": subscription,
        "enable_subscription": subscription,
        "delete_subscription": webhooks.SubscriptionDeleted(success=True, id="whk_1"),
        "rotate_secret": webhooks.RotatedSecret(
            id="whk_1", secret="whsec_2", previous_secret_expires_at=kit.NOW
        ),
        "send_test": delivery,
        "list_deliveries": webhooks.DeliveryList(deliveries=(delivery,)),
        "get_delivery": webhooks.DeliveryContent(
            **msgspec.structs.asdict(delivery), body="{}", headers={"webhook-id": "evt_1"}
        ),
        "replay_delivery": delivery,
        "get_brand": lambda caller, request: brand(kit, request.brand_id),
    }


def brand(kit: Any, brand_id: str) -> accounts.Brand:
    """Answers get_brand for an account that has brd_1, brd_2 and brd_3."""
    if brand_id not in ("brd_1", "brd_2", "brd_3"):
        raise ApiError(NOT_FOUND, field="brand_ids")
    return accounts.Brand(
        id=brand_id, name="B", description=None, logo=None, timezone="UTC", created_at=kit.NOW
    )


OPERATIONS = [
    ("GET", "/webhooks", None, 200, "list_subscriptions", "reads"),
    ("POST", "/webhooks", BODY, 201, "create_subscription", "writes"),
    ("GET", "/webhooks/whk_1", None, 200, "get_subscription", "reads"),
    ("PATCH", "/webhooks/whk_1", {"name": "m"}, 200, "edit_subscription", "writes"),
    ("DELETE", "/webhooks/whk_1", None, 200, "delete_subscription", "writes"),
    ("POST", "/webhooks/whk_1/enable", None, 200, "enable_subscription", "writes"),
    ("POST", "/webhooks/whk_1/test", None, 202, "send_test", "writes"),
    ("POST", "/webhooks/whk_1/rotate-secret", None, 200, "rotate_secret", "writes"),
    ("GET", DELIVERIES, None, 200, "list_deliveries", "reads"),
    ("GET", f"{DELIVERIES}/dlv_1", None, 200, "get_delivery", "reads"),
    ("POST", f"{DELIVERIES}/dlv_1/replay", None, 202, "replay_delivery", "writes"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "asked", "meter"), OPERATIONS)
def test_each_operation_asks_the_service_once_and_answers_as_described(
    client, bus, method: str, path: str, body: Any, status: int, asked: str, meter: str
) -> None:
    response = client.open(f"/api/v1{path}", method=method, json=body)
    assert response.status_code == status, response.text
    assert len(bus.asked(asked)) == 1
    assert [request.meter for _, request in bus.asked("admit")] == [meter]
    described = describe(ENDPOINTS)
    row = path.replace("whk_1", "{id}").replace("dlv_1", "{delivery_id}")
    answers = described["paths"][row][method.lower()]["responses"]
    schema = answers[str(status)]["content"]["application/json"]["schema"]
    whole = {**schema, "components": described["components"]}
    jsonschema_rs.validator_for(whole, validate_formats=True).validate(response.json)


@pytest.mark.parametrize(("method", "path", "body", "status", "asked", "meter"), OPERATIONS)
def test_each_operation_needs_manage_webhooks(
    client, bus, kit, method: str, path: str, body: Any, status: int, asked: str, meter: str
) -> None:
    bus.answers["authenticate"] = kit.identity(scopes=("read:account", "read:brands", "write:posts"))
    response = client.open(f"/api/v1{path}", method=method, json=body)
    assert (response.status_code, response.json["required_scope"]) == (403, "manage:webhooks")
    assert bus.asked(asked) == []


def test_every_write_carries_an_operation_id(client, bus) -> None:
    for method, path, body, _, asked, meter in OPERATIONS:
        client.open(f"/api/v1{path}", method=method, json=body)
        [(caller, _)] = bus.asked(asked)
        assert bool(caller.operation_id) is (meter == "writes")


def test_a_record_is_flat_and_its_secret_is_in_the_answer_to_its_creation_alone(client) -> None:
    created = client.post("/api/v1/webhooks", json=BODY).json
    assert (created["id"], created["secret"]) == ("whk_1", "whsec_1")
    assert client.get("/api/v1/webhooks/whk_1").json == {
        name: value for name, value in created.items() if name != "secret"
    }
    assert "whsec" not in client.get("/api/v1/webhooks").text


def test_times_of_attempts_are_written_in_milliseconds(client) -> None:
    [delivery] = client.get(f"/api/v1{DELIVERIES}").json["deliveries"]
    assert delivery["attempts"][0]["at"] == "2026-11-20T12:00:00.847Z"


@pytest.mark.parametrize(("method", "path"), [("POST", "/webhooks"), ("PATCH", "/webhooks/whk_1")])
class TestBrands:
    def test_each_is_asked_about_once(self, client, bus, method: str, path: str) -> None:
        body = BODY | {"brand_ids": ["brd_2", "brd_1", "brd_2"]}
        assert client.open(f"/api/v1{path}", method=method, json=body).status_code < 300
        asked = [request for _, request in bus.asked("get_brand")]
        assert asked == [accounts.GetBrand(brand_id=one, field="brand_ids") for one in ("brd_2", "brd_1")]

    def test_unknown_ones_are_a_404_that_names_the_field(self, client, bus, method: str, path: str) -> None:
        body = BODY | {"brand_ids": ["brd_1", "brd_9", "brd_8"]}
        response = client.open(f"/api/v1{path}", method=method, json=body)
        assert (response.status_code, response.json["field"]) == (404, "brand_ids")
        assert bus.asked("create_subscription") + bus.asked("edit_subscription") == []

    def test_a_restricted_token_names_its_own_without_asking_and_no_others(
        self, client, bus, kit, method: str, path: str
    ) -> None:
        bus.answers["authenticate"] = kit.identity(brand_ids=("brd_1",))
        body = BODY | {"brand_ids": ["brd_1"]}
        assert client.open(f"/api/v1{path}", method=method, json=body).status_code < 300
        assert bus.asked("get_brand") == []
        bus.answers["get_brand"] = ApiError(BRAND_NOT_AUTHORIZED)
        body = BODY | {"brand_ids": ["brd_1", "brd_2"]}
        response = client.open(f"/api/v1{path}", method=method, json=body)
        assert (response.status_code, response.json["code"]) == (403, "BRAND_NOT_AUTHORIZED")


def test_a_patch_passes_on_only_what_is_sent(client, bus) -> None:
    client.patch("/api/v1/webhooks/whk_1", json={"name": "m"})
    assert bus.asked("edit_subscription")[0][1] == webhooks.EditSubscription(id="whk_1", name="m")
    client.patch("/api/v1/webhooks/whk_1", json={"brand_ids": []})
    request = bus.asked("edit_subscription")[1][1]
    assert (request.brand_ids, request.url) == ((), UNSET)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "n" * 81}, "name"),
        ({"name": ""}, "name"),
        ({"url": ""}, "url"),
        ({"url": 7}, "url"),
        ({"events": []}, "events"),
        ({"events": ["webhook.test"]}, "events"),
        ({"events": ["post.deleted"]}, "events"),
        ({"events": "post.published"}, "events"),
        ({"brand_ids": ["brd_1"] * 101}, "brand_ids"),
        ({"brand_ids": "brd_1"}, "brand_ids"),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/webhooks"), ("PATCH", "/webhooks/whk_1")])
def test_a_broken_rule_names_its_field(
    client, bus, method: str, path: str, change: dict[str, Any], field: str
) -> None:
    response = client.open(f"/api/v1{path}", method=method, json=BODY | change)
    assert (response.status_code, response.json["code"]) == (400, VALIDATION_ERROR.code)
    assert [error["field"].partition("[")[0] for error in response.json["errors"]] == [field]
    assert bus.asked("create_subscription") + bus.asked("edit_subscription") == []


@pytest.mark.parametrize("field", ["name", "url", "events"])
def test_a_missing_field_is_named(client, field: str) -> None:
    body = {name: value for name, value in BODY.items() if name != field}
    response = client.post("/api/v1/webhooks", json=body)
    assert (response.status_code, response.json["code"], response.json["field"]) == (
        400,
        "MISSING_FIELD",
        field,
    )


def test_one_subscription_too_many_is_a_409(client, bus) -> None:
    bus.answers["create_subscription"] = ApiError(LIMIT_REACHED, limit=20)
    response = client.post("/api/v1/webhooks", json=BODY)
    assert (response.status_code, response.json["code"], response.json["limit"]) == (409, "LIMIT_REACHED", 20)


def test_a_log_is_filtered_and_paged_as_asked(client, bus) -> None:
    client.get(f"/api/v1{DELIVERIES}?status=failed&limit=7&cursor=c")
    asked = webhooks.ListDeliveries(id="whk_1", status="failed", limit=7, cursor="c")
    assert bus.asked("list_deliveries")[0][1] == asked
    assert client.get(f"/api/v1{DELIVERIES}?status=lost").status_code == 400


def test_a_sandbox_token_has_no_webhooks(client, bus, kit) -> None:
    scopes = ("read:account", "read:brands", "read:pages", "read:posts", "read:comments", "read:media")
    bus.answers["authenticate"] = kit.identity(sandbox=True, scopes=scopes)
    window = quota.RateWindow(limit=5, remaining=4, resets_at=kit.NOW)
    bus.answers["admit"] = kit.admitted(window=window)
    assert client.post("/api/v1/webhooks", json=BODY).json["code"] == "MISSING_SCOPE"


@pytest.mark.parametrize(("method", "path"), [("post", "/webhooks"), ("patch", "/webhooks/whk_1")])
def test_publishing_reports_posts_made_at_once_before_a_subscription_asks_for_them(
    client, bus, method, path
) -> None:
    bus.answers["report_posts_made_at_once"] = Nothing()
    ask = getattr(client, method)
    for asked in ({}, {"immediate_posts": False}, {"immediate_posts": True}):
        assert ask(f"/api/v1{path}", json=BODY | asked).status_code in (200, 201)
    names = [name for name, _, _ in bus.calls if name.endswith("subscription") or name.startswith("report")]
    change = "create_subscription" if method == "post" else "edit_subscription"
    assert names == [change, change, "report_posts_made_at_once", change]


def test_no_subscription_asks_for_them_while_publishing_is_away(client, bus) -> None:
    bus.answers["report_posts_made_at_once"] = ApiError(SERVICE_UNAVAILABLE)
    answer = client.post("/api/v1/webhooks", json=BODY | {"immediate_posts": True})
    assert (answer.status_code, bus.asked("create_subscription")) == (503, [])
