"""Tests the inbox: comments of visitors, replies to them, filters, and a reply that is kept while the API is away."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.files import uploaded
from e2e_kit.inbox import SHOWN, form_of, is_read_now, looks_until, read_an_hour_ago, shows
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until


def test_a_comment_is_answered_and_leaves_the_list_of_those_to_answer(
    asked: Any, simulator: Simulator
) -> None:
    window = asked.window
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    form = form_of(asked, "spelt")
    window.type(f"{form} textarea", "Every Friday!")
    window.click(f"{form} button")
    shows(asked, "Every Friday!", "Sent")
    asked.open("/comments")
    shows(asked, "Until when are you open?")
    until(lambda: "open on FB" not in window.run(SHOWN), 20, "the answered post leaves the list")
    form = form_of(asked, "Until when")
    window.type(f"{form} textarea", "Until midnight.")
    window.click(f"{form} button")
    shows(asked, "Until midnight.", "Sent")
    asked.open("/comments")
    shows(asked, "No comment on these posts waits for a reply.")
    assert "open on" not in window.run(SHOWN)
    assert flaws(window) == []
    for state in ("answered", "all"):
        asked.open(f"/comments?state={state}")
        shows(asked, "Do you have spelt?", "Until when are you open?")


def test_new_comments_are_counted_and_shown_alone_until_they_are_answered(
    asked: Any, simulator: Simulator
) -> None:
    window, api = asked.window, asked.account.api
    read_an_hour_ago(asked)
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    until(lambda: window.title.startswith("(2) "), 20, "both are counted")
    is_read_now(asked)
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    assert not window.title.startswith("(")
    assert not window.has("#only-new:not([hidden])")
    [remote] = [
        it["remote_id"] for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"
    ]
    simulator.comment("FB", remote, "And rye?")
    looks_until(asked, "And rye?")
    assert window.text("#only-new").split() == ["New", "1"]
    window.click("#only-new")
    assert window.run("return document.querySelector('#only-new').ariaPressed") == "true"
    assert "And rye?" in window.run(SHOWN)
    assert "spelt" not in window.run(SHOWN)
    assert "Until when" not in window.run(SHOWN)
    assert flaws(window) == []
    form = form_of(asked, "rye")
    window.type(f"{form} textarea", "On Mondays.")
    window.click(f"{form} button")
    shows(asked, "On Mondays.", "spelt", "Until when")


def test_a_post_with_many_comments_loads_earlier_ones_on_demand(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"]
    for number in range(60):
        simulator.comment("FB", post["remote_id"], f"Thought number {number}.")
    asked.open(f"/comments?state=all&page={asked.account.page_id('FB')}")
    count = "return document.querySelectorAll('.conversations > li').length"
    until(lambda: window.run(count) == 50, 30, "the newest are shown")
    assert flaws(window) == []
    assert window.click_and_hold(".threads a[hx-get*='after=']")
    window.go_on()
    until(lambda: window.run(count) == 61, 30, "all are shown")
    assert not window.has(".threads a[hx-get*='after=']")
    shows(asked, "Thought number 59.", "Do you have spelt?")


def test_the_tab_says_how_many_comments_wait_for_an_answer(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    number = "return document.querySelector('#unanswered').textContent"
    asked.open("/comments")
    until(lambda: window.run(number) == "(2)", 20, "both are counted")
    form = form_of(asked, "spelt")
    window.type(f"{form} textarea", "Every Friday!")
    window.click(f"{form} button")
    until(lambda: window.run(number) == "(1)", 20, "the answered one is not counted")
    [remote] = [
        it["remote_id"] for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"
    ]
    simulator.comment("FB", remote, "And rye?")
    asked.open("/comments?state=answered")
    shows(asked, "Every Friday!")
    until(lambda: window.run(number) == "(2)", 20, "those that this tab hides are counted")
    assert "And rye?" not in window.run(SHOWN)


def test_the_inbox_is_filtered_by_platform_and_brand(asked: Any) -> None:
    asked.open("/comments?state=all&platform=FB")
    shows(asked, "Do you have spelt?")
    assert "open on IG" not in asked.window.run(SHOWN)
    asked.open(f"/comments?brand={asked.account.brand_id}")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    asked.open("/comments?platform=YT")
    assert "No post with comments is out yet for this choice." in asked.window.run(SHOWN)
    assert flaws(asked.window) == []


def test_the_post_above_its_comments_has_its_picture(person: Any, picture: Path) -> None:
    api = person.account.api
    file = uploaded(api, picture.read_bytes(), "Bread.jpg", "image/jpeg")
    until(lambda: api.get(f"/media/{file['media_id']}")["thumbnail_url"], 30, "the thumbnail is made")
    api.post("/posts/publish", {"page_id": person.account.page_id("FB"), "media_ids": [file["media_id"]]})
    person.open("/comments?state=all")
    is_drawn = "const it = document.querySelector('.band img'); return it.complete && it.naturalWidth > 0"
    until(lambda: person.window.run(is_drawn), 20, "the picture is drawn")


def test_the_inbox_is_filtered_by_page(asked: Any) -> None:
    window = asked.window
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    window.run(
        f"const list = document.querySelector('#page'); list.value = '{asked.account.page_id('IG')}';"
        "list.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    until(lambda: "spelt" not in window.run(SHOWN), 20, "the page is shown alone")
    shows(asked, "Until when are you open?")
    assert f"page={asked.account.page_id('IG')}" in window.url


def test_an_answer_that_a_platform_refuses_stays_with_the_reason(asked: Any, simulator: Simulator) -> None:
    window = asked.window
    asked.open("/comments")
    shows(asked, "Do you have spelt?")
    simulator.fault("reject", asked.account.pages["FB"], operation="reply")
    form = form_of(asked, "spelt")
    window.type(f"{form} textarea", "Every Friday!")
    window.click(f"{form} button")
    until(lambda: window.has("#inbox [role=alert]"), 20, "the refusal is told")
    assert window.run(f"return document.querySelector('{form} textarea').value") == "Every Friday!"
    assert flaws(window) == []
    window.click(f"{form} button")
    shows(asked, "Every Friday!", "Sent")


@pytest.mark.alone
def test_an_answer_survives_an_api_that_is_away_and_is_written_once(asked: Any, stack: Stack) -> None:
    window, api = asked.window, asked.account.api
    asked.open("/comments")
    shows(asked, "Until when are you open?")
    form = form_of(asked, "Until when")
    window.type(f"{form} textarea", "Until midnight.")
    with stack.held_down("publishing"):
        window.click(f"{form} button")
        until(lambda: window.has("#inbox [role=alert]"), 60, "the outage is told")
        told = window.text("#inbox [role=alert]")
        assert "Your answer is kept here" in told or "No answer came" in told
        asked.open("/comments")
    stack.await_ready(60)
    asked.open("/comments")
    shows(asked, "Until when are you open?")
    form = form_of(asked, "Until when")
    kept = f"return document.querySelector('{form} textarea').value"
    until(lambda: window.run(kept) == "Until midnight.", 20, "what was typed is there")
    window.click(f"{form} button")
    shows(asked, "Until midnight.", "Sent")
    posts = {it["platform"]: it["id"] for it in api.get("/posts/published")["published_posts"]}
    texts = [it["text"] for it in api.get(f"/comments?post_id={posts['IG']}")["comments"]]
    assert sorted(texts) == ["Until midnight.", "Until when are you open?"]


def test_the_inbox_looks_right(asked: Any) -> None:
    asked.window.emulate_phone(360, 1600, "light")
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    assert flaws(asked.window) == []


def test_without_comments_the_inbox_says_what_comes_here(person: Any) -> None:
    person.open("/comments")
    assert "Comments on your posts appear here" in person.window.text("#inbox")
    assert flaws(person.window) == []


def test_new_comments_appear_by_themselves_and_are_marked_without_touching_what_is_typed(
    asked: Any, simulator: Simulator
) -> None:
    window, api = asked.window, asked.account.api
    asked.open("/comments")  # of comments at which the person has never looked, none is marked
    shows(asked, "Do you have spelt?", "Until when are you open?")
    form = form_of(asked, "spelt")
    window.type(f"{form} textarea", "Half an answer")
    [remote] = [
        it["remote_id"] for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"
    ]
    simulator.comment("FB", remote, "And rye?")
    until(lambda: "And rye?" in window.run(SHOWN), 100, "it appears: the inbox looks twice a minute")
    marked = "return [...document.querySelectorAll('.new-mark:not([hidden])')].map(it => it.closest('li').innerText)"
    assert ["And rye?" in it for it in window.run(marked)] == [True]
    assert window.run(f"return document.querySelector('{form} textarea').value") == "Half an answer"
    assert "A new comment has come." in window.run("return document.querySelector('#news').textContent")
    assert flaws(window) == []
    window.type(f"{form_of(asked, 'rye')} textarea", "On Mondays.")
    window.click(f"{form_of(asked, 'rye')} button")
    shows(asked, "On Mondays.", "Sent")


def test_a_new_comment_brings_its_post_to_the_top_however_old_it_is(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    newest, oldest = api.get("/posts/published")["published_posts"]
    until(
        lambda: all(it["last_comment_at"] for it in api.get("/posts/published")["published_posts"]),
        60,
        "the first comments are received",
    )
    order = "return [...document.querySelectorAll('#inbox h2')].map(it => it.innerText)"
    for text, post, other in (
        ("And rye?", oldest, newest),
        ("And on Sundays?", newest, oldest),
        ("And oats?", oldest, newest),
    ):
        simulator.comment(post["platform"], post["remote_id"], text)
        until(partial(is_first, api, post["id"]), 60, "the comment is received")
        asked.open("/comments?state=all")
        assert window.run(order) == [post["message"], other["message"]]


def is_first(api: Any, post_id: str) -> bool:
    first, *_ = api.get("/posts/published", sort="activity")["published_posts"]
    return bool(first["id"] == post_id)


def test_a_post_that_was_not_shown_appears_with_its_comment(asked: Any, simulator: Simulator) -> None:
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    body = {"page_id": asked.account.page_id("FB"), "message": "We bake rye"}
    post = asked.account.api.post("/posts/publish", body)
    simulator.comment("FB", post["platform_post_id"], "With caraway?")
    looks_until(asked, "With caraway?")
    assert "We bake rye" in asked.window.run(SHOWN)
    assert "A new comment has come." in asked.window.run("return document.querySelector('#news').textContent")
    assert flaws(asked.window) == []
    form = form_of(asked, "caraway")
    asked.window.type(f"{form} textarea", "Of course.")
    asked.window.click(f"{form} button")
    shows(asked, "Of course.", "Sent")


def test_what_a_visitor_adds_to_a_conversation_appears_in_it_and_marks_it(
    asked: Any, simulator: Simulator
) -> None:
    window, api = asked.window, asked.account.api
    posts = {it["platform"]: it for it in api.get("/posts/published")["published_posts"]}
    remote = posts["IG"]["remote_id"]
    question = simulator.comment("IG", remote, "Is there tea?")
    asked.open("/comments")  # of comments at which the person has never looked, none is marked
    shows(asked, "Is there tea?", "Until when are you open?")
    form = form_of(asked, "tea")
    window.type(f"{form} textarea", "Half an answer")
    simulator.comment("IG", remote, "Green tea, I mean.", parent_id=question)
    looks_until(asked, "Green tea, I mean.")
    marked = "return [...document.querySelectorAll('.new-mark:not([hidden])')].map(it => it.closest('li').innerText)"
    [shown] = window.run(marked)
    assert shown.index("Is there tea?") < shown.index("Green tea, I mean.")
    assert window.run(f"return document.querySelector('{form} textarea').value") == "Half an answer"
    assert flaws(window) == []


def test_whoever_asks_again_after_an_answer_waits_again(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "IG"]
    question = simulator.comment("IG", post["remote_id"], "Is there tea?")
    asked.open("/comments")
    shows(asked, "Is there tea?", "Do you have spelt?", "Until when are you open?")
    window.type(f"{form_of(asked, 'tea')} textarea", "Green tea.")
    window.click(f"{form_of(asked, 'tea')} button")
    shows(asked, "Green tea.", "Sent")
    waiting = "return document.querySelector('#unanswered').innerText"
    until(lambda: window.run(waiting) == "(2)", 20, "one comment less waits")
    simulator.comment("IG", post["remote_id"], "And black tea?", parent_id=question)
    looks_until(asked, "And black tea?")
    until(lambda: window.run(waiting) == "(3)", 20, "the visitor waits again")
    asked.open("/comments")
    shows(asked, "And black tea?")
    window.type(f"{form_of(asked, 'black tea')} textarea", "Black tea, too.")
    window.click(f"{form_of(asked, 'black tea')} button")
    shows(asked, "Black tea, too.", "Sent")
    asked.open("/comments?state=answered")
    shows(asked, "And black tea?", "Black tea, too.")
    assert window.has(".conversations summary:not([hidden])")  # "Reply again"
    assert flaws(window) == []


def test_a_post_that_had_left_the_list_comes_back_with_a_new_comment(
    asked: Any, simulator: Simulator
) -> None:
    api = asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"]
    [comment] = api.get("/comments", post_id=post["id"])["comments"]
    reply = {"page_id": post["page_id"], "comment_id": comment["id"], "message": "Yes."}
    api.post("/comments/reply", reply)
    asked.open("/comments")
    until(lambda: "open on FB" not in asked.window.run(SHOWN), 20, "the answered post leaves the list")
    simulator.comment("FB", post["remote_id"], "And rye?")
    looks_until(asked, "And rye?")
    assert "open on FB" in asked.window.run(SHOWN)
