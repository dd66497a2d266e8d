"""Tests usage, billing and the logs: use by day, credits, the log of requests, the audit log."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.operator import Accounts, Operator
from e2e_kit.posting import schedule
from e2e_kit.waiting import until

SCREENS = ("/usage", "/usage/credits", "/developers/requests", "/activity/audit")


@pytest.fixture
def busy(person: Any, operator: Operator, accounts: Accounts) -> Iterator[Any]:
    """A person whose account has published a post, got a refusal, used credits and given somebody a role."""
    api, account = person.account.api, person.account
    api.post("/posts/publish", {"page_id": account.page_id(), "message": "Out"})
    api.call("POST", "/posts/publish", json={"page_id": account.page_id(), "message": ""})
    api.post("/ai/captions", {"brand_id": account.brand_id, "instruction": "We bake at night"}, 200)
    other = accounts.new(pages=())
    operator("collaborator", "add", "--brand", account.brand_id, "--user", other.user_id, "--role", "limited")
    until(lambda: len(api.get("/logs?errors_only=true")["entries"]) == 1, 30, "the log is written")
    yield person
    person.window.emulate_phone(0, 0, "")


def test_use_by_day_is_drawn_and_told_as_a_table(busy: Any) -> None:
    window = busy.window
    busy.open("/usage")
    assert window.has(".chart rect.good")
    assert window.has(".chart rect.accent")
    window.click("main details.card summary")
    [today] = busy.account.api.get("/account/usage?days=1")["days"]
    row = window.text(".scroll tbody tr").split()
    assert today["date"] in window.run("return document.querySelector('tbody time').dateTime")
    assert row[-4] == str(today["publishes"]) == "1"


def test_the_log_of_requests_is_filtered_and_names_the_error(busy: Any) -> None:
    window = busy.window
    busy.open("/developers")
    window.press("nav[aria-label=Views] a:last-child")
    assert "POST /posts/publish" in window.text("#log")
    window.click("[name=errors]")
    until(lambda: window.run("return document.querySelectorAll('#log .row').length") == 1, 20, "errors alone")
    assert "VALIDATION_ERROR" in window.text("#log .row")
    assert "errors=yes" in window.url
    assert flaws(window) == []
    [entry] = busy.account.api.get("/logs?errors_only=true")["entries"]
    busy.open(f"/developers/requests?request_id={entry['request_id']}")
    assert window.run("return document.querySelectorAll('#log .row').length") == 1


def test_the_log_tells_a_browsers_requests_from_a_tokens(busy: Any) -> None:
    def told(query: str = "") -> str:
        busy.open(f"/developers/requests{query}")
        return str(busy.window.text("#log .list"))

    until(lambda: "Dashboard" in told("?people=yes"), 30, "the dashboard's own requests are written")
    assert "Dashboard" not in told()


def test_the_limits_of_month_day_and_storage_are_bars_with_the_time_at_which_they_begin_anew(
    busy: Any,
) -> None:
    window = busy.window
    busy.open("/usage")
    bars = window.run(
        "return [...document.querySelectorAll('meter')].map(it => it.getAttribute('aria-label'))"
    )
    assert bars == [
        "Posts sent or scheduled",
        "Replies",
        "Reads",
        "Webhook deliveries",
        "Requests",
        "Storage",
    ]
    assert "1 of 3,000" in window.text("[aria-labelledby=of-month]")
    assert "These counts reset on" in window.text("[aria-labelledby=of-month]")
    assert "00:00 UTC" in window.text("[aria-labelledby=of-day]")  # the account's own zone


def test_a_pack_of_credits_is_named_on_one_line_on_a_phone(busy: Any) -> None:
    busy.window.emulate_phone(360, 800, "light")
    busy.open("/usage")
    heights = "return [...document.querySelectorAll('.row > span.grow')].map(it => it.offsetHeight)"
    found = busy.window.run(heights)
    assert found
    assert max(found) < 30


def test_a_request_leads_to_the_posts_and_attempts_that_it_made(busy: Any) -> None:
    window = busy.window
    [entry] = busy.account.api.get("/logs", errors_only="true")["entries"]
    busy.open(f"/developers/requests/{entry['request_id']}")
    assert "VALIDATION_ERROR" in window.text("main")
    assert "This request created or changed no post." in window.text("main")
    [entry] = [
        it
        for it in busy.account.api.get("/logs")["entries"]
        if it["path"] == "/posts/publish" and not it["code"]
    ]
    busy.open(f"/developers/requests?request_id={entry['request_id']}")
    window.press("#log .row a")
    assert "Published" in window.text("[aria-labelledby=its-posts]")
    assert flaws(window) == []
    window.press("[aria-labelledby=its-posts] a")
    assert "Out" in window.text(".text")


def test_the_credits_and_the_audit_log_say_who_and_what(busy: Any, operator: Operator) -> None:
    window, account = busy.window, busy.account
    post = schedule(account, message="Sooner")
    operator("post", "due", post["id"], "--reason", "You asked us to")
    busy.open("/usage/credits")
    assert re.search(r"Plan credits, [A-Z]\w+ 20\d\d", window.text("main"))
    assert "Used: caption" in window.text("main")
    assert "−1" in window.text("main")
    assert re.search(r"\d credits left", window.text("main"))
    busy.open("/activity/audit")
    told = window.text("main")
    assert f"Support sent a post on {account.pages['FB']['name']} before its scheduled time." in told
    assert "Reason: You asked us to" in told
    assert re.search(r"Support gave \S+@\S+ limited access to the brand\.", told)
    assert not re.search(r"\b(pag|pst|usr)_|\w\.\w+_", told)
    window.press("main a[href*='/posts/']")
    assert "Sooner" in window.text(".text")


def test_the_audit_log_is_narrowed_to_a_brand_at_once(busy: Any) -> None:
    window, brand = busy.window, busy.account.brand_id
    busy.open("/activity/audit")
    assert not window.run("return document.querySelector('#audit .filters button').checkVisibility()")
    window.run(
        f"const list = document.querySelector('#brand'); list.value = '{brand}';"
        "list.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    until(lambda: f"brand={brand}" in window.url, 20, "the log is narrowed")
    until(lambda: "limited access to the brand" in window.text("#audit"), 20, "the entries are there")


def test_each_screen_looks_right(busy: Any) -> None:
    for screen in SCREENS:
        busy.open(screen)
        busy.window.run("for (const it of document.querySelectorAll('details')) it.open = true")
        assert (screen, flaws(busy.window)) == (screen, [])
