"""Endpoints that do more than pass the request on: the calls that they make to services."""

from typing import Any

import pytest

from contracts import accounts, ai, media, publishing, quota
from contracts.accounts import ListBrands
from contracts.errors import BRAND_NOT_AUTHORIZED, NOT_FOUND, SERVICE_UNAVAILABLE, ApiError


@pytest.fixture
def brand(kit: Any) -> accounts.Brand:
    return accounts.Brand(
        id="brd_1", name="Brand", description=None, logo=None, timezone="UTC", created_at=kit.NOW
    )


@pytest.fixture
def usage(kit: Any) -> quota.Usage:
    use = quota.BucketUse(used=1, limit=10, remaining=9)
    return quota.Usage(
        year_month="2026-11",
        resets_at=kit.NOW,
        publishes=use,
        replies=use,
        reads=use,
        webhooks=use,
        writes=quota.BucketUse(used=3, limit=None, remaining=None),
        total_requests=4,
    )


@pytest.fixture
def balance(kit: Any) -> ai.CreditsBalance:
    return ai.CreditsBalance(
        credits=ai.Credits(
            available=41, plan="Advanced", plan_allowance=1300, plan_used=1300, plan_remaining=0, bonus=41, referral=0,
            next_reset_at=kit.NOW,
        ),
        costs=(ai.Cost(action="image", label="Image", credits=10),),
        packs=(ai.Pack(id="p", name="P", credits=500, price_usd=9.0, price_per_credit=0.018, available=True),),
        auto_refill=ai.AutoRefill(
            available=False, enabled=False, status="off", threshold=None, amount=None, unit_credits=500,
            unit_price_usd=9.0, amounts=(500,),
        ),
        billing_url="u",
    )  # fmt: skip


@pytest.mark.parametrize("value", ["fb", "FB", "Facebook", "FACEBOOK"])
def test_platform_filters_take_codes_and_names_in_any_case(client, bus, value) -> None:
    assert client.get(f"/api/v1/pages?platform={value}").status_code == 200
    assert bus.asked("list_pages")[0][1].platform == "FB"


def test_what_is_too_long_is_a_finding_of_a_dry_run_and_refused_elsewhere(client, bus) -> None:
    bus.answers["validate_post"] = publishing.Validation(valid=False)
    body = {"page_id": "pag_1", "message": "x" * 5_001, "first_comment": "x" * 8_001}
    assert client.post("/api/v1/posts/validate", json=body).status_code == 200
    assert bus.asked("validate_post")[0][1].message == body["message"]
    assert client.post("/api/v1/posts/publish", json=body).json["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "path",
    [
        "/pages?",
        "/posts/published?",
        "/posts/scheduled/counts?",
        "/posts/calendar?since=2026-12-01T00:00:00Z&until=2027-01-01T00:00:00Z&",
    ],
)
def test_another_platform_is_a_validation_error(client, path) -> None:
    response = client.get(f"/api/v1{path}platform=myspace")
    assert (response.status_code, response.json["errors"][0]["field"]) == (400, "platform")


def test_an_unknown_brand_filter_is_a_404_that_names_it(client, bus) -> None:
    bus.answers["get_brand"] = lambda caller, request: (_ for _ in ()).throw(
        ApiError(NOT_FOUND, field=request.field)
    )
    response = client.get("/api/v1/pages?brand_id=brd_9")
    assert (response.status_code, response.json["field"]) == (404, "brand_id")
    assert bus.asked("list_pages") == []


def test_a_restricted_token_knows_its_own_brands_and_asks_about_others(client, bus, kit) -> None:
    bus.answers["authenticate"] = kit.identity(brand_ids=("brd_1",))
    bus.answers["get_brand"] = ApiError(BRAND_NOT_AUTHORIZED)
    assert client.get("/api/v1/pages?brand_id=brd_1").status_code == 200
    assert bus.asked("get_brand") == []
    assert client.get("/api/v1/pages?brand_id=brd_2").json["code"] == "BRAND_NOT_AUTHORIZED"


def test_brands_are_listed_with_their_pages_counted_and_never_for_another_account(client, bus, brand) -> None:
    bus.answers["list_brands"] = accounts.BrandList(brands=(brand,))
    bus.answers["count_pages"] = publishing.PageCounts(counts={"brd_1": 3})
    response = client.get("/api/v1/brands?user_id=usr_2&limit=5")
    assert bus.asked("list_brands")[0][1] == ListBrands(limit=5)
    assert response.json["brands"][0]["pages_count"] == 3
    assert response.json["next_cursor"] is None


def test_a_brand_is_shown_with_all_its_pages(client, bus, brand, kit) -> None:
    bus.answers["get_brand"] = brand
    lists = [publishing.PageList(pages=(kit.PAGE,), next_cursor="c"), publishing.PageList(pages=(kit.PAGE,))]
    bus.answers["list_pages"] = lambda caller, request: lists.pop(0)
    response = client.get("/api/v1/brands/brd_1")
    assert len(response.json["brand"]["pages"]) == 2
    assert [request.cursor for _, request in bus.asked("list_pages")] == [None, "c"]


def test_pages_of_an_unknown_brand_are_a_404(client, bus) -> None:
    bus.answers["get_brand"] = ApiError(NOT_FOUND)
    assert client.get("/api/v1/brands/brd_9/pages").status_code == 404


@pytest.fixture
def account(bus: Any, usage: Any, balance: Any) -> None:
    """Sets the services' answers about an account."""
    storage = media.Storage(used_bytes=1, limit_bytes=3, remaining_bytes=2)
    view = media.StorageView(quota=storage, max_file_bytes=9)
    bus.answers |= {"get_usage": usage, "get_credits": balance, "get_storage": view}


@pytest.mark.usefixtures("account")
def test_the_account_view_has_the_shape_of_the_spec(client) -> None:
    account = client.get("/api/v1/account").json
    assert account["credits"] == {"remaining": 41, "plan": "Advanced"}
    assert account["quota"]["storage"] == {
        "used_bytes": 1, "limit_bytes": 3, "remaining_bytes": 2, "max_file_bytes": 9
    }  # fmt: skip
    assert account["quota"]["rate_limit"] == {"per_minute": 60, "per_day": 10_000}
    assert account["quota"]["monthly"]["writes"] == {"used": 3, "limit": None, "remaining": None}
    assert account["quota"]["publish_guardrails"]["perPage"]["LN"] == {"perHour": 3, "per24h": 15}
    assert "YT" not in account["quota"]["publish_guardrails"]["perPage"]
    assert account["quota"]["publish_guardrails"]["minGapBetweenSchedulesMs"] == 60_000
    assert account["quota"]["publish_guardrails"]["perBrandPer24hSafetyNet"] == 500
    shown = client.get("/api/v1/account/credits").json
    assert shown["credits"]["available"] == 41
    assert shown["packs"][0]["pricePerCredit"] == 0.018


@pytest.mark.usefixtures("account")
def test_a_token_that_a_collaborator_issued_says_whose_and_for_which_brand(client, bus, kit) -> None:
    assert client.get("/api/v1/account").json["api_key"]["issued_by_collaborator_id"] is None
    bus.on_reset()
    bus.answers["authenticate"] = kit.identity(
        on_behalf_of_brand_id="brd_1", issued_by_collaborator_id="usr_2"
    )
    key = client.get("/api/v1/account").json["api_key"]
    assert (key["on_behalf_of_brand_id"], key["issued_by_collaborator_id"]) == ("brd_1", "usr_2")


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("away", ["get_credits", "get_storage", "get_usage"])
def test_an_account_of_which_a_part_is_not_known_is_a_503(client, bus, away: str) -> None:
    bus.answers[away] = ApiError(SERVICE_UNAVAILABLE)
    assert client.get("/api/v1/account").status_code == 503


def test_a_publish_result_stands_by_itself_and_a_post_in_its_wrapper(client) -> None:
    assert (
        client.post("/api/v1/posts/publish", json={"page_id": "p", "message": "x"}).json["was_published"]
        is True
    )
    assert client.get("/api/v1/posts/scheduled/pst_1").json["scheduled_post"]["id"] == "pst_1"
    assert client.get("/api/v1/pages/pag_1").json["page"]["id"] == "pag_1"
