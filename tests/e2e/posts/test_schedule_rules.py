"""Tests posts that schedule, publish and validate refuse, and the figures in the errors."""

import datetime as dt

import pytest
from e2e_kit.api import instant, refused, stamp
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import await_post, from_now, schedule, shown, tomorrow
from e2e_kit.simulator import Simulator

SLACK = dt.timedelta(seconds=30)


@pytest.mark.parametrize(
    "offset", [{"minutes": 9}, {"days": 76}, {"days": -1}], ids=["too soon", "too late", "past"]
)
def test_a_time_outside_the_window_is_refused_with_the_window(
    shared: Account, offset: dict[str, float]
) -> None:
    body = {"page_id": shared.page_id(), "message": "when?", "scheduled_at": from_now(**offset)}
    error = refused(shared.api.call("POST", "/posts/schedule", json=body), 400, "SCHEDULE_OUT_OF_RANGE")
    now = dt.datetime.now(dt.UTC)
    assert abs(instant(error["earliest"]) - (now + dt.timedelta(minutes=10))) < SLACK
    assert abs(instant(error["latest"]) - (now + dt.timedelta(days=75))) < SLACK


def test_both_ends_of_the_window_are_taken(account: Account) -> None:
    for offset in ({"minutes": 10, "seconds": 10}, {"days": 75, "seconds": -10}):
        assert schedule(account, message="edge", scheduled_at=from_now(**offset))["status"] == "queued"


def test_a_queued_post_is_not_moved_out_of_the_window(account: Account) -> None:
    post = schedule(account, message="stay")
    answer = account.api.call(
        "PATCH", f"/posts/scheduled/{post['id']}", json={"scheduled_at": from_now(minutes=5)}
    )
    refused(answer, 400, "SCHEDULE_OUT_OF_RANGE")
    assert shown(account.api, post["id"]) == post


def test_scheduled_posts_of_a_page_keep_a_minute_between_them(account: Account) -> None:
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(days=1)).replace(microsecond=0)
    schedule(account, message="first", scheduled_at=stamp(at))
    body = {
        "page_id": account.page_id(),
        "message": "second",
        "scheduled_at": stamp(at + dt.timedelta(seconds=59)),
    }
    error = refused(account.api.call("POST", "/posts/schedule", json=body), 429, "PAGE_PUBLISH_GUARDRAIL")
    assert error["retry_after_seconds"] == 1
    assert instant(error["next_allowed_at"]) == at + dt.timedelta(seconds=60)
    body["scheduled_at"] = error["next_allowed_at"]
    account.api.post("/posts/schedule", body)
    body["scheduled_at"] = stamp(at - dt.timedelta(seconds=1))
    error = refused(account.api.call("POST", "/posts/schedule", json=body), 429, "PAGE_PUBLISH_GUARDRAIL")
    assert instant(error["next_allowed_at"]) == at + dt.timedelta(seconds=120), "past both of them"


def test_an_eleventh_post_within_an_hour_is_refused_with_the_first_time_that_fits(account: Account) -> None:
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(days=3)).replace(microsecond=0)
    for minute in range(0, 50, 5):
        schedule(account, message=f"{minute}", scheduled_at=stamp(at + dt.timedelta(minutes=minute)))
    body = {
        "page_id": account.page_id(),
        "message": "one more",
        "scheduled_at": stamp(at + dt.timedelta(minutes=52)),
    }
    error = refused(account.api.call("POST", "/posts/schedule", json=body), 429, "PAGE_PUBLISH_GUARDRAIL")
    assert instant(error["next_allowed_at"]) == at + dt.timedelta(minutes=60)
    assert error["retry_after_seconds"] == 8 * 60
    account.api.post("/posts/schedule", body | {"scheduled_at": error["next_allowed_at"]})


def test_an_eleventh_publish_within_an_hour_is_refused(account: Account, simulator: Simulator) -> None:
    body = {"page_id": account.page_id(), "message": "again"}
    for _ in range(10):
        account.api.post("/posts/publish", body)
    error = refused(account.api.call("POST", "/posts/publish", json=body), 429, "PAGE_PUBLISH_GUARDRAIL")
    assert 3500 < error["retry_after_seconds"] <= 3600
    assert len(simulator.posts(account.pages["FB"])) == 10


def test_what_a_platform_cannot_do_is_refused_before_anything_is_stored(shared: Account, photo: str) -> None:
    publish = "/posts/publish"
    text_only = {"page_id": shared.page_id("IG"), "message": "only words"}
    refused(shared.api.call("POST", publish, json=text_only), 400, "UNSUPPORTED_PLATFORM", platform="IG")
    too_long = {"page_id": shared.page_id("IG"), "message": "x" * 2_201, "media_urls": [photo]}
    refused(shared.api.call("POST", publish, json=too_long), 400, "VALIDATION_ERROR")
    no_such_comment = {"page_id": shared.page_id("TT"), "media_urls": [photo], "first_comment": "no"}
    refused(
        shared.api.call("POST", "/posts/schedule", json=no_such_comment | {"scheduled_at": tomorrow()}),
        400, "VALIDATION_ERROR",
    )  # fmt: skip
    foreign = {
        "page_id": shared.page_id("FB"),
        "message": "x",
        "tiktok_settings": {"privacy_level": "SELF_ONLY"},
    }
    refused(shared.api.call("POST", publish, json=foreign), 400, "VALIDATION_ERROR")


def test_a_message_or_media_is_needed_and_at_most_ten_media(shared: Account, photo: str) -> None:
    page_id = shared.page_id()
    refused(shared.api.call("POST", "/posts/publish", json={"page_id": page_id}), 400, "VALIDATION_ERROR")
    refused(
        shared.api.call("POST", "/posts/publish", json={"page_id": page_id, "message": ""}),
        400,
        "VALIDATION_ERROR",
    )
    too_many = {"page_id": page_id, "media_urls": [photo] * 11}
    refused(shared.api.call("POST", "/posts/publish", json=too_many), 400, "VALIDATION_ERROR")


def test_validate_tells_everything_and_does_nothing(
    account: Account, simulator: Simulator, photo: str
) -> None:
    api, page_id = account.api, account.page_id("IG")
    before = api.get("/account")["quota"]["monthly"]["publishes"]["used"]
    assert (
        api.post("/posts/validate", {"page_id": page_id, "media_urls": [photo]}, status=200)["valid"] is True
    )
    bad = {
        "page_id": page_id, "message": "x" * 2_300, "scheduled_at": from_now(minutes=1),
        "media_urls": ["http://127.0.0.1/x.jpg"],
    }  # fmt: skip
    found = api.post("/posts/validate", bad, status=200)
    assert found["valid"] is False
    assert {row["code"] for row in found["errors"]} >= {
        "SCHEDULE_OUT_OF_RANGE",
        "INVALID_MEDIA_URL",
        "VALIDATION_ERROR",
    }
    refused(api.call("POST", "/posts/validate", json={"message": "x"}), 400, "MISSING_FIELD", field="page_id")
    refused(
        api.call("POST", "/posts/validate", json={"page_id": "pag_unknown", "message": "x"}), 404, "NOT_FOUND"
    )
    assert api.get("/account")["quota"]["monthly"]["publishes"]["used"] == before
    assert simulator.posts(account.pages["IG"]) == []
    assert api.get("/posts/scheduled")["scheduled_posts"] == []


def test_an_expired_page_refuses_everything_that_would_reach_its_platform(
    account: Account, operator: Operator, simulator: Simulator
) -> None:
    api, page = account.api, account.pages["FB"]
    published = api.post("/posts/publish", {"page_id": page["id"], "message": "before"})
    queued = schedule(account, message="queued")
    simulator.comment("FB", published["platform_post_id"], "hi")
    [comment] = api.get("/comments", post_id=published["post_id"])["comments"]
    operator("page", "expire", page["id"])
    body = {"page_id": page["id"], "message": "after"}
    calls = [
        api.call("POST", "/posts/publish", json=body),
        api.call("POST", "/posts/schedule", json=body | {"scheduled_at": tomorrow(hours=2)}),
        api.call("POST", "/comments/reply", json=body | {"comment_id": comment["id"]}),
        api.call("GET", f"/posts/published/{published['post_id']}/engagement"),
        api.call("GET", "/comments", params={"post_id": published["post_id"]}),
    ]
    for answer in calls:
        error = refused(answer, 400, "PAGE_EXPIRED", page_id=page["id"])
        assert error["reconnect_url"].startswith("http")
    assert api.get(f"/pages/{page['id']}")["page"]["expired"] is True
    assert api.post("/posts/validate", body, status=200)["errors"][0]["code"] == "PAGE_EXPIRED"
    operator("post", "due", queued["id"])
    assert await_post(api, queued["id"], status="failed")["error"]["code"] == "PAGE_EXPIRED"


def test_a_page_whose_platform_refuses_its_token_is_expired_from_then_on(
    account: Account, simulator: Simulator
) -> None:
    page = account.pages["FB"]
    simulator.fault("expired", page)
    body = {"page_id": page["id"], "message": "anyone?"}
    refused(account.api.call("POST", "/posts/publish", json=body), 400, "PAGE_EXPIRED", page_id=page["id"])
    assert account.api.get(f"/pages/{page['id']}")["page"]["expired"] is True
    assert simulator.posts(page) == []


def test_media_behind_a_redirect_into_the_private_network_is_never_fetched(
    account: Account, simulator: Simulator, photo: str
) -> None:
    inside = "http://169.254.169.254/latest/meta-data/x.jpg"
    url = photo.rsplit("/", 1)[0] + f"/redirect?to={inside}"
    body = {"page_id": account.page_id(), "message": "x", "media_urls": [url]}
    answer = account.api.call("POST", "/posts/publish", json=body)
    assert answer.status_code in (400, 502), answer.text
    assert simulator.posts(account.pages["FB"]) == []


def test_a_page_linked_again_is_alive_again(accounts: Accounts, operator: Operator) -> None:
    account = accounts.new(pages=("FB",))
    operator("page", "expire", account.page_id())
    fresh = accounts.page(account.brand_id, "FB")
    account.api.post("/posts/publish", {"page_id": fresh["id"], "message": "back"})
