"""Tests the limits per minute, day and month: exactly as many requests as the limit are admitted, and a new window
starts at zero.
"""

import datetime as dt
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from e2e_kit.api import error_code, instant, refused, stamp
from e2e_kit.operator import Accounts, Clock, Operator

pytestmark = pytest.mark.alone


def begin_minute(clock: Clock) -> dt.datetime:
    """Shifts the clock to the beginning of a minute, an hour after midnight, so that no window ends during a test."""
    tomorrow = clock.now() + dt.timedelta(days=1)
    return clock.shift_to(tomorrow.replace(hour=1, minute=0, second=1, microsecond=0))


def test_a_burst_lets_through_exactly_the_minutes_limit(accounts: Accounts, clock: Clock) -> None:
    account = accounts.new("pro", pages=(), pool_size=50)
    begin_minute(clock)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: account.api.call("GET", "/me"), range(200)))
    assert Counter(answer.status_code for answer in answers) == {200: 60, 429: 140}
    late = [answer for answer in answers if answer.status_code == 429]
    for answer in late[:5]:
        refused(answer, 429, "RATE_LIMITED")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert answer.headers["X-RateLimit-Remaining"] == "0"
    begin = clock.shift(minutes=1)
    fresh = account.api.call("GET", "/me")
    assert fresh.status_code == 200
    assert int(fresh.headers["X-RateLimit-Reset"]) == int(begin.timestamp()) // 60 * 60 + 60


@pytest.mark.parametrize(("tier", "per_minute"), [("free", 10), ("developer", 30), ("elite", 300)])
def test_every_tier_has_its_own_minute(accounts: Accounts, clock: Clock, tier: str, per_minute: int) -> None:
    account = accounts.new(tier, pages=(), pool_size=20)
    begin_minute(clock)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: account.api.call("GET", "/me"), range(per_minute + 10)))
    assert Counter(answer.status_code for answer in answers) == {200: per_minute, 429: 10}


def test_the_minute_counts_the_account_over_all_its_tokens(accounts: Accounts, clock: Clock) -> None:
    account = accounts.new("free", pages=())
    second = accounts.client(accounts.token(account.user_id)["api_token"])
    begin_minute(clock)
    for _ in range(5):
        account.api.get("/me")
        second.get("/me")
    refused(second.call("GET", "/me"), 429, "RATE_LIMITED")


def test_a_sandbox_token_has_five_a_minute_and_fifty_a_day_by_itself(
    accounts: Accounts, clock: Clock
) -> None:
    account = accounts.new("free", pages=())
    sandbox = accounts.client(account.sandbox_token)
    begin_minute(clock)
    for _ in range(10):
        for _ in range(5):
            sandbox.get("/me")
        refused(sandbox.call("GET", "/me"), 429, "RATE_LIMITED")
        clock.shift(minutes=1)
    error = sandbox.call("GET", "/me")
    refused(error, 429, "DAILY_LIMIT_EXCEEDED")
    assert int(error.headers["Retry-After"]) > 3600
    account.api.get("/me")
    clock.shift(days=1)
    sandbox.get("/me")


def test_refused_requests_do_not_use_up_a_sandbox_token(
    accounts: Accounts, clock: Clock, operator: Operator
) -> None:
    account = accounts.new("free", pages=())
    [token] = [row for row in operator("token", "list", "--user", account.user_id) if row["sandbox"]]
    sandbox = accounts.client(account.sandbox_token)
    begin_minute(clock)
    operator("token", "set-used", token["id"], "94")
    for _ in range(5):
        sandbox.get("/me")
    for _ in range(5):
        refused(sandbox.call("GET", "/me"), 429, "RATE_LIMITED")
    clock.shift(minutes=1)
    sandbox.get("/me")
    refused(sandbox.call("GET", "/me"), 402, "SANDBOX_EXHAUSTED")


def test_a_months_publishes_end_and_come_back_with_the_next_month(accounts: Accounts, clock: Clock) -> None:
    account = accounts.new("free", pages=("FB",))
    now = begin_minute(clock)
    refusals = []
    for number in range(62):
        if number % 9 == 0:
            clock.shift(minutes=1)
        at = now + dt.timedelta(days=35, hours=number)
        body = {"page_id": account.page_id(), "message": f"{number}", "scheduled_at": stamp(at)}
        answer = account.api.call("POST", "/posts/schedule", json=body)
        if answer.status_code != 201:
            refusals.append((number, answer))
    assert [(number, error_code(answer)) for number, answer in refusals] == [
        (60, "MONTHLY_QUOTA_EXCEEDED"), (61, "MONTHLY_QUOTA_EXCEEDED"),
    ]  # fmt: skip
    error = refused(refusals[0][1], 429, "MONTHLY_QUOTA_EXCEEDED", bucket="publishes", limit=60)
    assert int(refusals[0][1].headers["Retry-After"]) > 0
    clock.shift(minutes=1)
    usage = account.api.get("/account")["quota"]["monthly"]["publishes"]
    assert usage == {"used": 60, "limit": 60, "remaining": 0}
    resets_at = instant(error["resets_at"])
    assert (resets_at.day, resets_at.hour) == (1, 0)
    clock.shift_to(resets_at + dt.timedelta(seconds=5))
    account.api.post("/posts/publish", {"page_id": account.page_id(), "message": "a new month"})
    assert account.api.get("/account")["quota"]["monthly"]["publishes"]["used"] == 1


def test_a_brand_publishes_500_times_in_24_hours_whatever_its_pages_allow(
    accounts: Accounts, clock: Clock
) -> None:
    account = accounts.new(pages=())
    pages = [accounts.page(account.brand_id, platform)["id"] for platform in ("TW", "TW", "YT")]
    begin = begin_minute(clock) + dt.timedelta(days=2)

    def schedule(page_id: str, at: dt.datetime) -> requests.Response:
        body = {"page_id": page_id, "message": "x", "scheduled_at": stamp(at)}
        if page_id == pages[2]:
            body["media_urls"] = ["https://example.com/a.mp4"]
        return account.api.call("POST", "/posts/schedule", json=body)

    times = [begin + dt.timedelta(minutes=5 * number) for number in range(250)]
    with ThreadPoolExecutor(8) as pool:
        for page_id in pages[:2]:
            answers = pool.map(lambda at, page_id=page_id: schedule(page_id, at), times)
            assert {answer.status_code for answer in answers} == {201}
            clock.shift(minutes=1)
    answer = schedule(pages[2], begin + dt.timedelta(hours=23))
    error = refused(answer, 429, "BRAND_PUBLISH_GUARDRAIL")
    next_allowed_at = instant(error["next_allowed_at"])
    assert next_allowed_at == begin + dt.timedelta(hours=24), "when the first two are a day old"
    assert error["retry_after_seconds"] == 3600
    assert schedule(pages[2], next_allowed_at).status_code == 201
