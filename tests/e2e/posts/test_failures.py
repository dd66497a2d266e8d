"""Tests posts when the platform fails: retries, failures, unknown outcomes."""

import datetime as dt
import uuid

import pytest
from e2e_kit.api import instant, refused, stamp
from e2e_kit.operator import Account, Clock, Operator
from e2e_kit.posting import PUBLISH_SECONDS, await_post, schedule, shown
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: local-stack.md: reconciliation starts after 5 s and ends within two minutes.
LOOK_UP_SECONDS = 60.0
RETRY_WAITS = (dt.timedelta(minutes=1), dt.timedelta(minutes=5), dt.timedelta(minutes=15))


def test_a_publish_the_platform_rejects_is_told_with_its_words_and_gives_its_unit_back(
    account: Account, simulator: Simulator
) -> None:
    def used() -> int:
        count: int = account.api.get("/account")["quota"]["monthly"]["publishes"]["used"]
        return count

    before = used()
    simulator.fault("reject", account.pages["FB"])
    body = {"page_id": account.page_id(), "message": "no"}
    error = refused(
        account.api.call("POST", "/posts/publish", json=body), 502, "PLATFORM_REJECTED", platform="FB"
    )
    assert error["platform_error"]["retryable"] is False
    assert {"code", "message"} <= set(error["platform_error"])
    assert used() == before


def test_a_publish_at_once_is_tried_only_once(account: Account, simulator: Simulator) -> None:
    simulator.fault("rate_limit", account.pages["FB"])
    body = {"page_id": account.page_id(), "message": "slower"}
    error = refused(account.api.call("POST", "/posts/publish", json=body), 502, "PLATFORM_REJECTED")
    assert error["platform_error"]["retryable"] is True
    assert simulator.posts(account.pages["FB"]) == []
    account.api.post("/posts/publish", body)


def test_a_permanent_rejection_fails_a_scheduled_post_at_once_and_a_retry_revives_it(
    account: Account, simulator: Simulator, operator: Operator
) -> None:
    page, post_id = account.pages["FB"], schedule(account, message="second try")["id"]
    refused(account.api.call("POST", f"/posts/scheduled/{post_id}/retry", json={}), 409, "POST_IN_PROGRESS")
    simulator.fault("reject", page)
    operator("post", "due", post_id)
    post = await_post(account.api, post_id, status="failed")
    assert (post["attempts"], post["error"]["code"]) == (1, "PLATFORM_REJECTED")
    assert account.api.get("/posts/scheduled")["scheduled_posts"] == []
    assert len(account.api.get("/posts/scheduled", status="failed")["scheduled_posts"]) == 1
    assert (
        account.api.post(f"/posts/scheduled/{post_id}/retry", status=200)["scheduled_post"]["id"] == post_id
    )
    assert await_post(account.api, post_id, status="published")["error"] is None
    assert [held["text"] for held in simulator.posts(page)] == ["second try"]


def test_a_publish_whose_answer_never_came_is_looked_up_and_its_key_leads_to_the_one_post(
    account: Account, simulator: Simulator
) -> None:
    page, key = account.pages["FB"], str(uuid.uuid4())
    simulator.fault("drop_after_accept", page)
    body = {"page_id": page["id"], "message": "did it?"}
    first = account.api.call("POST", "/posts/publish", json=body, key=key)
    post_id = refused(first, 502, "PLATFORM_OUTCOME_UNKNOWN")["post_id"]
    refused(
        account.api.call("POST", "/posts/publish", json=body, key=key),
        409,
        "POST_IN_PROGRESS",
        post_id=post_id,
    )

    def published() -> str | None:
        answer = account.api.call("POST", "/posts/publish", json=body, key=key)
        return answer.json()["post_id"] if answer.status_code == 201 else None

    assert until(published, LOOK_UP_SECONDS) == post_id
    [held] = simulator.posts(page)
    [row] = account.api.get("/posts/published")["published_posts"]
    assert (row["id"], row["remote_id"]) == (post_id, held["id"])


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_a_due_post_whose_answer_never_came_ends_published_exactly_once(
    account: Account, simulator: Simulator, operator: Operator, photo: str, platform: str
) -> None:
    page = account.pages[platform]
    post_id = schedule(account, platform, message="once", media_urls=[photo])["id"]
    simulator.fault("drop_after_accept", page)
    operator("post", "due", post_id)
    until(lambda: simulator.posts(page), PUBLISH_SECONDS, "the platform keeps the post")
    post = await_post(account.api, post_id, LOOK_UP_SECONDS, status="published")
    [held] = simulator.posts(page)
    assert post["remote_id"] == held["id"]


def test_a_post_under_way_can_be_neither_changed_nor_cancelled(
    account: Account, simulator: Simulator, operator: Operator
) -> None:
    post_id = schedule(account, message="too late")["id"]
    simulator.fault("drop_after_accept", account.pages["FB"])
    operator("post", "due", post_id)
    until(lambda: simulator.posts(account.pages["FB"]), PUBLISH_SECONDS, "the platform keeps the post")
    path = f"/posts/scheduled/{post_id}"
    refused(account.api.call("DELETE", path), 409, "POST_IN_PROGRESS")
    refused(account.api.call("PATCH", path, json={"message": "other"}), 409, "POST_IN_PROGRESS")
    await_post(account.api, post_id, LOOK_UP_SECONDS, status="published")


def await_failed_attempt(account: Account, post_id: str, attempts: int, clock: Clock) -> dt.timedelta:
    """Waits until this many attempts have failed. Returns the time that is left until the next attempt."""

    def look() -> dt.timedelta | None:
        post = shown(account.api, post_id)
        if post["attempts"] < attempts or not post["next_attempt_at"]:
            return None  # it is being sent
        left = instant(post["next_attempt_at"]) - clock.now()
        return left if left > dt.timedelta() else None

    return until(look, PUBLISH_SECONDS, f"attempt {attempts} has failed and the next has a time")


@pytest.mark.alone
def test_a_retryable_failure_is_tried_again_after_1_5_and_15_minutes(
    account: Account, simulator: Simulator, operator: Operator, clock: Clock
) -> None:
    page, post_id = account.pages["FB"], schedule(account, message="patience")["id"]
    simulator.fault("rate_limit", page, times=3)
    operator("post", "due", post_id)
    for attempts, wait in enumerate(RETRY_WAITS, 1):
        left = await_failed_attempt(account, post_id, attempts, clock)
        assert wait - dt.timedelta(seconds=20) < left <= wait
        clock.shift_to(clock.now() + left + dt.timedelta(seconds=1))
    post = await_post(account.api, post_id, status="published")
    assert post["attempts"] == 4
    assert len(simulator.posts(page)) == 1


@pytest.mark.alone
def test_the_fourth_failure_is_the_last(
    account: Account, simulator: Simulator, operator: Operator, clock: Clock
) -> None:
    page, post_id = account.pages["FB"], schedule(account, message="no luck")["id"]
    simulator.fault("rate_limit", page, times=10)
    operator("post", "due", post_id)
    for attempts in range(1, 4):
        left = await_failed_attempt(account, post_id, attempts, clock)
        clock.shift_to(clock.now() + left + dt.timedelta(seconds=1))
    post = await_post(account.api, post_id, status="failed")
    assert (post["attempts"], post["error"]["code"]) == (4, "PLATFORM_REJECTED")
    assert simulator.posts(page) == []
    simulator.clear_faults()


@pytest.mark.alone
def test_a_post_found_due_more_than_a_day_late_is_not_sent_and_a_younger_one_is(
    account: Account, simulator: Simulator, clock: Clock
) -> None:
    now = clock.now()
    missed = schedule(account, message="stale", scheduled_at=stamp(now + dt.timedelta(hours=1)))["id"]
    late = schedule(account, message="late", scheduled_at=stamp(now + dt.timedelta(hours=2)))["id"]
    clock.shift_to(now + dt.timedelta(hours=25, minutes=30))
    assert await_post(account.api, missed, status="failed")["error"]["code"] == "PUBLISH_WINDOW_MISSED"
    await_post(account.api, late, status="published")
    assert [held["text"] for held in simulator.posts(account.pages["FB"])] == ["late"]


@pytest.mark.alone
def test_a_due_post_that_would_break_a_cap_waits_until_it_fits(
    account: Account, simulator: Simulator, operator: Operator, clock: Clock
) -> None:
    post_id = schedule(account, message="the eleventh")["id"]
    for _ in range(10):
        account.api.post("/posts/publish", {"page_id": account.page_id(), "message": "busy"})
    operator("post", "due", post_id)

    def put_off() -> bool:
        at = shown(account.api, post_id)["next_attempt_at"]
        return at is not None and instant(at) > clock.now() + dt.timedelta(minutes=50)

    until(put_off, PUBLISH_SECONDS, "the post is put off")
    assert len(simulator.posts(account.pages["FB"])) == 10
    clock.shift(hours=1, seconds=5)
    await_post(account.api, post_id, status="published")
    assert len(simulator.posts(account.pages["FB"])) == 11


@pytest.mark.alone
def test_posts_of_a_page_that_are_due_together_go_out_in_their_order(
    account: Account, simulator: Simulator, clock: Clock
) -> None:
    begin = clock.now() + dt.timedelta(minutes=30)
    texts = [f"number {number}" for number in range(8)]
    for number in (3, 0, 7, 1, 5, 2, 6, 4):
        schedule(account, message=texts[number], scheduled_at=stamp(begin + dt.timedelta(minutes=number)))
    clock.shift_to(begin + dt.timedelta(minutes=10))
    until(lambda: len(simulator.posts(account.pages["FB"])) == len(texts), PUBLISH_SECONDS, "all are out")
    assert [held["text"] for held in simulator.posts(account.pages["FB"])] == texts
    published = account.api.get("/posts/published")["published_posts"]
    assert [post["message"] for post in published] == texts[::-1], "newest first"
