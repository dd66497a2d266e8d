"""Tests posts that are published at once or at their time, and how the API shows them afterwards."""

import datetime as dt
import time

import pytest
from e2e_kit.api import Json, instant, refused, stamp
from e2e_kit.operator import Account, Operator
from e2e_kit.posting import PUBLISH_SECONDS, await_post, schedule, tomorrow
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until


def test_a_text_is_published_at_once(account: Account, simulator: Simulator) -> None:
    page = account.pages["FB"]
    result = account.api.post("/posts/publish", {"page_id": page["id"], "message": "Fresh rolls ✨ at 7"})
    assert (result["status"], result["was_published"], result["platform"]) == ("published", True, "FB")
    assert (result["page_id"], result["brand_id"]) == (page["id"], account.brand_id)
    assert result["permalink"].startswith("http")
    assert abs(instant(result["published_at"]) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)
    [post] = simulator.posts(page)
    assert (post["id"], post["text"]) == (result["platform_post_id"], "Fresh rolls ✨ at 7")


def test_a_text_whose_platform_answers_after_12_seconds_is_published(
    account: Account, simulator: Simulator
) -> None:
    page = account.pages["FB"]
    simulator.fault("slow", page, seconds=12)
    began = time.monotonic()
    result = account.api.post("/posts/publish", {"page_id": page["id"], "message": "Late, but there"})
    assert time.monotonic() - began > 12
    [post] = simulator.posts(page)
    assert (result["status"], result["platform_post_id"]) == ("published", post["id"])


@pytest.mark.parametrize("platform", ["FB", "IG"])
@pytest.mark.parametrize("count", [1, 3], ids=["one photo", "three photos"])
def test_photos_are_published_at_once(
    account: Account, simulator: Simulator, photo: str, platform: str, count: int
) -> None:
    page = account.pages[platform]
    urls = [photo, photo.replace("1080x1080", "1080x1350"), photo.replace("1080x1080", "1200x900")][:count]
    result = account.api.post(
        "/posts/publish", {"page_id": page["id"], "message": "Look", "media_urls": urls}
    )
    assert [item["type"] for item in result["media"]] == ["photo"] * count
    [post] = simulator.posts(page)
    assert post["text"] == "Look"
    assert [item["type"] for item in post["media"]] == ["photo"] * count
    assert all(item["bytes"] > 1000 for item in post["media"])


@pytest.mark.prompt
@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_a_video_is_published_at_once(
    account: Account, simulator: Simulator, video: str, platform: str
) -> None:
    page = account.pages[platform]
    result = account.api.post(
        "/posts/publish", {"page_id": page["id"], "message": "Moving", "media_urls": [video]}
    )
    assert result["was_published"] is True
    [post] = simulator.posts(page)
    assert [item["type"] for item in post["media"]] == ["video"]
    assert post["id"] == result["platform_post_id"]


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_the_first_comment_follows_the_post(
    account: Account, simulator: Simulator, photo: str, platform: str
) -> None:
    page = account.pages[platform]
    body = {"page_id": page["id"], "message": "Cake", "media_urls": [photo], "first_comment": "Recipe: #cake"}
    account.api.post("/posts/publish", body)

    def comments() -> list[Json]:
        found: list[Json] = simulator.posts(page)[0]["comments"]
        return found

    [comment] = until(comments, PUBLISH_SECONDS, "the first comment")
    assert comment["text"] == "Recipe: #cake"


def test_a_scheduled_post_is_queued_listed_and_shown(account: Account) -> None:
    at = tomorrow()
    post = schedule(account, scheduled_at=at, message="Soon", first_comment="first!")
    assert (post["status"], post["scheduled_at"], post["message"], post["first_comment"]) == (
        "queued", at, "Soon", "first!",
    )  # fmt: skip
    assert (post["page_id"], post["brand_id"], post["platform"]) == (
        account.page_id(),
        account.brand_id,
        "FB",
    )
    assert account.api.get(f"/posts/scheduled/{post['id']}")["scheduled_post"] == post
    listed = account.api.get("/posts/scheduled", page_id=account.page_id())["scheduled_posts"]
    assert listed == [post]
    assert account.api.get("/posts/scheduled", page_id=account.page_id("IG"))["scheduled_posts"] == []


def test_scheduled_posts_are_listed_soonest_first_and_paged(account: Account) -> None:
    ids = {
        hour: schedule(account, scheduled_at=tomorrow(hours=hour), message=f"{hour}")["id"]
        for hour in (5, 1, 3)
    }
    seen: list[str] = []
    cursor: dict[str, str] = {}
    for _ in ids:
        page = account.api.get("/posts/scheduled", limit=1, **cursor)
        seen += [post["id"] for post in page["scheduled_posts"]]
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [ids[1], ids[3], ids[5]]
    assert cursor == {"cursor": None}


def test_a_time_with_an_offset_is_answered_in_utc(account: Account) -> None:
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(days=2)).replace(microsecond=0)
    local = at.astimezone(dt.timezone(dt.timedelta(hours=5, minutes=30))).isoformat()
    post = schedule(account, scheduled_at=local, message="from Mumbai")
    assert instant(post["scheduled_at"]) == at


def test_a_queued_post_is_changed_and_keeps_what_was_not_named(account: Account, photo: str) -> None:
    post = schedule(account, message="Before", media_urls=[photo], first_comment="stays")
    later = tomorrow(hours=4)
    path = f"/posts/scheduled/{post['id']}"
    changed = account.api.patch(path, {"scheduled_at": later, "message": "After"})["scheduled_post"]
    assert (changed["scheduled_at"], changed["message"], changed["first_comment"]) == (
        later,
        "After",
        "stays",
    )
    assert [item["src"] for item in changed["media"]] == [photo]
    cleared = account.api.patch(path, {"media_urls": [], "first_comment": None})["scheduled_post"]
    assert (cleared["media"], cleared["first_comment"], cleared["message"]) == ([], None, "After")
    assert account.api.get(path)["scheduled_post"] == cleared
    refused(account.api.call("PATCH", path, json={"message": None}), 400, "VALIDATION_ERROR")


def test_a_cancelled_post_is_gone_for_good(account: Account, operator: Operator) -> None:
    post_id = schedule(account, message="Never")["id"]
    assert account.api.delete(f"/posts/scheduled/{post_id}") == {"success": True, "id": post_id}
    refused(account.api.call("DELETE", f"/posts/scheduled/{post_id}"), 404, "NOT_FOUND")
    refused(account.api.call("PATCH", f"/posts/scheduled/{post_id}", json={"message": "x"}), 404, "NOT_FOUND")
    refused(account.api.call("POST", f"/posts/scheduled/{post_id}/retry", json={}), 404, "NOT_FOUND")
    assert account.api.get("/posts/scheduled")["scheduled_posts"] == []
    cancelled = account.api.get("/posts/scheduled", status="cancelled")["scheduled_posts"]
    assert [post["id"] for post in cancelled] == [post_id]


def test_a_due_post_is_published_and_appears_in_the_published_list(
    account: Account, simulator: Simulator, operator: Operator, photo: str
) -> None:
    page = account.pages["IG"]
    post_id = schedule(account, "IG", message="On time", media_urls=[photo])["id"]
    operator("post", "due", post_id)
    post = await_post(account.api, post_id, status="published")
    [held] = simulator.posts(page)
    assert held["text"] == "On time"
    assert post["remote_id"] == held["id"]
    [row] = account.api.get("/posts/published")["published_posts"]
    assert (row["id"], row["remote_id"], row["message"]) == (post_id, held["id"], "On time")
    assert row["metrics"].keys() >= {"likes", "comments", "shares"}
    refused(account.api.call("DELETE", f"/posts/scheduled/{post_id}"), 404, "NOT_FOUND")


def test_published_posts_are_newest_first_and_filtered(account: Account, photo: str) -> None:
    results = [
        account.api.post(
            "/posts/publish", {"page_id": account.page_id(p), "message": p, "media_urls": [photo]}
        )
        for p in ("FB", "IG", "FB")
    ]
    first, second, third = (result["post_id"] for result in results)

    def ids(**query: object) -> list[str]:
        return [row["id"] for row in account.api.get("/posts/published", **query)["published_posts"]]

    assert ids() == [third, second, first]
    assert ids(platform="instagram") == [second]
    assert ids(page_id=account.page_id("FB")) == [third, first]
    assert ids(since=results[1]["published_at"]) == [third], "since is exclusive"
    assert ids(limit=1) == [third]


def test_engagement_is_read_live_from_the_platform(
    account: Account, simulator: Simulator, photo: str
) -> None:
    for platform, shares in (("FB", 2), ("IG", 2)):
        body = {"page_id": account.page_id(platform), "message": "Likes?", "media_urls": [photo]}
        result = account.api.post("/posts/publish", body)
        simulator.metrics(platform, result["platform_post_id"], likes=41, comments=7, shares=shares)
        view = account.api.get(f"/posts/published/{result['post_id']}/engagement")
        assert (view["platform"], view["platform_post_id"]) == (platform, result["platform_post_id"])
        counts = view["engagement"]
        assert (counts["likes"], counts["comments"], counts["shares"]) == (41, 7, shares)
        assert counts["total_interactions"] == 41 + 7 + shares
        assert instant(view["fetched_at"]) >= instant(result["published_at"])
        simulator.metrics(platform, result["platform_post_id"], likes=42)
        again = account.api.get(f"/posts/published/{result['post_id']}/engagement")["engagement"]
        assert again["likes"] == 42


def test_engagement_of_a_post_that_is_only_queued_is_not_found(account: Account) -> None:
    post_id = schedule(account, message="not yet")["id"]
    refused(account.api.call("GET", f"/posts/published/{post_id}/engagement"), 404, "NOT_FOUND")


def test_the_platform_failing_an_engagement_read_is_told(account: Account, simulator: Simulator) -> None:
    result = account.api.post("/posts/publish", {"page_id": account.page_id(), "message": "hm"})
    simulator.fault("server_error", account.pages["FB"], "engagement", times=5)
    refused(
        account.api.call("GET", f"/posts/published/{result['post_id']}/engagement"), 502, "PLATFORM_ERROR"
    )


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_a_visitors_comment_is_read_and_answered(
    account: Account, simulator: Simulator, photo: str, platform: str
) -> None:
    api, page = account.api, account.pages[platform]
    post = api.post("/posts/publish", {"page_id": page["id"], "message": "Ask me", "media_urls": [photo]})
    remote_comment_id = simulator.comment(platform, post["platform_post_id"], "Open on Sunday?", "Vera")
    [comment] = api.get("/comments", post_id=post["post_id"], page_id=page["id"])["comments"]
    assert (comment["text"], comment["post_id"], comment["platform"]) == (
        "Open on Sunday?",
        post["post_id"],
        platform,
    )
    assert comment["id"].startswith("cmt_")
    assert comment["parent_id"] is None
    body = {"page_id": page["id"], "comment_id": comment["id"], "message": "Yes, from 8."}
    reply = api.post("/comments/reply", body)["reply"]
    assert (reply["parent_id"], reply["message"]) == (comment["id"], "Yes, from 8.")
    held = simulator.posts(page)[0]["comments"]
    assert [(row["text"], row["parent_id"]) for row in held] == [
        ("Open on Sunday?", None), ("Yes, from 8.", remote_comment_id),
    ]  # fmt: skip
    [again] = [
        row for row in api.get("/comments", post_id=post["post_id"])["comments"] if row["id"] == comment["id"]
    ]
    assert again["reply_count"] == 1, "an id is stable over reads"


def test_comments_since_a_time_are_only_the_later_ones(account: Account, simulator: Simulator) -> None:
    post = account.api.post("/posts/publish", {"page_id": account.page_id(), "message": "Chat"})
    simulator.comment("FB", post["platform_post_id"], "hello")
    since = stamp(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=5))
    query = {"post_id": post["post_id"], "page_id": account.page_id()}
    assert len(account.api.get("/comments", **query)["comments"]) == 1
    assert account.api.get("/comments", **query, since=since)["comments"] == []


def test_a_reply_the_platform_rejects_is_told_with_its_words(account: Account, simulator: Simulator) -> None:
    page = account.pages["FB"]
    post = account.api.post("/posts/publish", {"page_id": page["id"], "message": "Chat"})
    simulator.comment("FB", post["platform_post_id"], "hello")
    [comment] = account.api.get("/comments", post_id=post["post_id"])["comments"]
    simulator.fault("reject", page, "reply")
    body = {"page_id": page["id"], "comment_id": comment["id"], "message": "no"}
    error = refused(
        account.api.call("POST", "/comments/reply", json=body), 502, "PLATFORM_REJECTED", platform="FB"
    )
    assert error["platform_error"].keys() >= {"code", "message", "retryable"}
