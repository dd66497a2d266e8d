"""Tests the screen of one post: a held post is released, and a published post shows its likes, comments and shares."""

from typing import Any

import pytest
import requests
from e2e_kit.accessibility import flaws
from e2e_kit.operator import Accounts, Clock
from e2e_kit.posting import await_post, tomorrow
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from dashboard import words


def held(person: Any, accounts: Accounts, text: str) -> str:
    """Schedules a post with a token that is revoked then. Returns the post's id."""
    made = accounts.token(person.account.user_id)
    body = {"page_id": person.account.page_id("FB"), "message": text, "scheduled_at": tomorrow()}
    post = accounts.client(made["api_token"]).post("/posts/schedule", body)["scheduled_post"]
    accounts.operator("token", "revoke", made["token"]["id"])
    await_post(person.account.api, post["id"], status="held")
    return str(post["id"])


def test_a_held_post_says_why_and_goes_out_at_its_time_once_it_is_released(
    person: Any, accounts: Accounts
) -> None:
    window, api = person.window, person.account.api
    post_id = held(person, accounts, "Waits for a word")
    person.open("/posts?tab=attention")
    assert "Waits for a word" in window.text("#posts")
    window.press("#posts .row a")
    told = window.text("main")
    assert "The API token that created this post was revoked." in told
    assert "Release the post to publish it on" in told
    assert "as planned, or cancel it." in told
    before = api.get(f"/posts/{post_id}")["post"]["scheduled_at"]
    window.press("form[action$=release] button")
    assert "The post is released." in window.text("[role=status]")
    assert flaws(window) == []
    assert "Why it is held" not in window.text("main")
    after = api.get(f"/posts/{post_id}")["post"]
    assert (after["status"], after["scheduled_at"]) == ("queued", before)
    assert not window.has("form[action$=release]")
    person.open("/posts?tab=attention")
    assert "Waits for a word" not in window.text("main")


@pytest.mark.alone
def test_a_held_post_whose_time_is_over_goes_out_when_it_is_released(
    person: Any, accounts: Accounts, simulator: Simulator, clock: Clock
) -> None:
    post_id = held(person, accounts, "Later than planned")
    clock.shift(days=2)
    person.open(f"/posts/{post_id}")
    person.window.press("form[action$=release] button")
    await_post(person.account.api, post_id, status="published")
    assert [it["text"] for it in simulator.posts(person.account.pages["FB"])] == ["Later than planned"]


def test_the_figures_of_a_post_are_shown_in_the_list_and_on_its_own_screen(
    person: Any, simulator: Simulator
) -> None:
    window, api = person.window, person.account.api
    post = api.post("/posts/publish", {"page_id": person.account.page_id("FB"), "message": "Fresh rye"})
    simulator.metrics("FB", post["platform_post_id"], likes=1234, comments=1, shares=56)
    person.open("/posts?tab=published")
    assert " ".join(window.text(".figures").split()) == "0 likes 0 comments 0 shares"  # nobody has asked yet
    window.press("#posts .row a")
    until(lambda: "Read a moment ago." in window.text("main"), 20, "Facebook has told its figures")
    assert "1,234 likes" in window.text("#figures")
    person.open("/posts?tab=published")
    assert " ".join(window.text(".figures").split()) == "1,234 likes 1 comment 56 shares"


def test_the_last_figures_stay_when_the_platform_gives_none(person: Any, simulator: Simulator) -> None:
    window, page = person.window, person.account.pages["FB"]
    post = person.account.api.post("/posts/publish", {"page_id": page["id"], "message": "Fresh rye"})
    simulator.metrics("FB", post["platform_post_id"], likes=7, comments=0, shares=0)
    person.open(f"/posts/{post['post_id']}")
    until(lambda: "7 likes" in window.text("#figures"), 20, "Facebook has told its figures")
    simulator.fault("server_error", page, operation="engagement", times=9)
    person.open(f"/posts/{post['post_id']}")
    until(lambda: "the last that are known" in window.text("main"), 20, "Facebook has refused")
    assert "7 likes" in window.text("#figures")


def test_a_post_on_a_platform_without_figures_neither_asks_for_them_nor_shows_zeros(
    person: Any, stack: Stack
) -> None:
    platforms = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()["x-platforms"]
    assert {code for code, it in platforms.items() if it["engagement"]} == set(words.COUNTED)
    body = {"page_id": person.account.page_id("TW"), "message": "Fresh rye"}
    post = person.account.api.post("/posts/publish", body)
    for path in (f"/posts/{post['post_id']}", "/posts?tab=published"):
        person.open(path)
        assert "Fresh rye" in person.window.text("main")
        assert "0 likes" not in person.window.text("main")
        assert not person.window.has("[hx-get*=engagement]")
