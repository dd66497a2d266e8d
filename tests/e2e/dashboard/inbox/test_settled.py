"""A comment that needs no reply leaves the unanswered ones, and comes back when that is undone or the visitor writes
again.
"""

from typing import Any

from e2e_kit.accessibility import flaws
from e2e_kit.inbox import SHOWN, form_of, looks_until, shows
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

NUMBER = "return document.querySelector('#unanswered').textContent"
FOCUSED = "return document.activeElement.innerText"
#: The button of a form by which a comment is said to need no reply, and by which that is undone.
SETTLE = "button[formaction]"


def settled_at(person: Any, text: str) -> Any:
    api = person.account.api
    posts = api.get("/posts/published")["published_posts"]
    comments = [it for post in posts for it in api.get("/comments", post_id=post["id"])["comments"]]
    [found] = [it["settled_at"] for it in comments if it["text"] == text]
    return found


def test_a_comment_that_needs_no_reply_leaves_the_unanswered_ones_and_comes_back_when_that_is_undone(
    asked: Any,
) -> None:
    window = asked.window
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    until(lambda: window.run(NUMBER) == "(2)", 20, "both are counted")
    form = form_of(asked, "spelt")
    window.click(f"{form} {SETTLE}")
    until(lambda: window.run(NUMBER) == "(1)", 20, "it is not counted any more")
    assert settled_at(asked, "Do you have spelt?")
    assert window.run(FOCUSED) == "Undo"
    assert flaws(window) == []
    window.click(f"{form} {SETTLE}")
    until(lambda: window.run(NUMBER) == "(2)", 20, "it is counted again")
    assert settled_at(asked, "Do you have spelt?") is None
    window.click(f"{form} {SETTLE}")
    until(lambda: window.run(NUMBER) == "(1)", 20, "it is not counted any more")
    asked.open("/comments")
    shows(asked, "Until when are you open?")
    until(lambda: "spelt" not in window.run(SHOWN), 20, "its post leaves the list")
    window.click(f"{form_of(asked, 'Until when')} {SETTLE}")
    asked.open("/comments")
    shows(asked, "No comment on these posts waits for a reply.")
    asked.open("/comments?state=answered")
    shows(asked, "Do you have spelt?", "Until when are you open?", "No reply needed")
    assert window.run(NUMBER) == ""
    assert flaws(window) == []
    form = form_of(asked, "spelt")
    window.click(f"{form} summary")
    window.type(f"{form} textarea", "Every Friday!")
    window.click(f"{form} button:not({SETTLE})")
    shows(asked, "Every Friday!", "Sent")


def test_what_the_visitor_writes_afterwards_waits_for_an_answer(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "IG"]
    thanks = simulator.comment("IG", post["remote_id"], "Lovely tea!")
    asked.open("/comments")
    shows(asked, "Lovely tea!", "Do you have spelt?", "Until when are you open?")
    window.click(f"{form_of(asked, 'Lovely')} {SETTLE}")
    until(lambda: window.run(NUMBER) == "(2)", 20, "one comment less waits")
    simulator.comment("IG", post["remote_id"], "Which is it?", parent_id=thanks)
    looks_until(asked, "Which is it?")
    until(lambda: window.run(NUMBER) == "(3)", 20, "the visitor waits")
    window.click(f"{form_of(asked, 'Lovely')} {SETTLE}")
    until(lambda: window.run(NUMBER) == "(2)", 20, "one comment less waits again")
    assert settled_at(asked, "Which is it?")
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    assert "Lovely" not in window.run(SHOWN)


def test_a_half_written_answer_is_kept_and_its_form_is_about_what_came_meanwhile(
    asked: Any, simulator: Simulator
) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "IG"]
    question = simulator.comment("IG", post["remote_id"], "Is there tea?")
    asked.open("/comments")
    shows(asked, "Is there tea?")
    form = form_of(asked, "tea")
    window.type(f"{form} textarea", "Half an answer")
    simulator.comment("IG", post["remote_id"], "Forget it, I see.", parent_id=question)
    looks_until(asked, "Forget it, I see.")
    window.click(f"{form} {SETTLE}")
    until(lambda: settled_at(asked, "Forget it, I see."), 20, "the newest comment needs no reply")
    assert settled_at(asked, "Is there tea?") is None
    assert window.run(f"return document.querySelector('{form} textarea').value") == "Half an answer"


def test_an_answer_that_is_being_written_below_a_settled_comment_stays_when_the_visitor_writes_again(
    asked: Any, simulator: Simulator
) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "IG"]
    question = simulator.comment("IG", post["remote_id"], "Is there tea?")
    asked.open("/comments")
    shows(asked, "Is there tea?")
    form = form_of(asked, "tea")
    window.click(f"{form} {SETTLE}")
    shows(asked, "Undo")
    window.click(f"{form} summary")
    window.type(f"{form} textarea", "Half an answer")
    window.run(f"document.querySelector('{form} [name=key]').dataset.same = ''")
    simulator.comment("IG", post["remote_id"], "Or coffee?", parent_id=question)
    looks_until(asked, "Or coffee?")
    assert window.run(f"return document.querySelector('{form} textarea').value") == "Half an answer"
    assert window.run(f"return document.querySelector('{form} [name=key]').dataset.same") == ""
    until(lambda: window.run(NUMBER) == "(3)", 20, "the visitor waits again")
    window.click(f"{form} .line {SETTLE}")
    until(lambda: settled_at(asked, "Or coffee?"), 20, "the newest comment needs no reply")


def test_a_first_comment_that_a_visitor_answers_gets_a_form(
    asked: Any, simulator: Simulator, photo: str
) -> None:
    window, account = asked.window, asked.account
    body = {
        "page_id": account.page_id("IG"),
        "message": "Tea",
        "media_urls": [photo],
        "first_comment": "Recipe: #tea",
    }
    remote = account.api.post("/posts/publish", body)["platform_post_id"]

    def first_comment() -> Any:
        [held] = [it for it in simulator.posts(account.pages["IG"]) if it["id"] == remote]
        return next((it["id"] for it in held["comments"] if it["text"] == "Recipe: #tea"), None)

    comment = until(first_comment, 20, "the first comment is written")
    asked.open("/comments?state=all")
    shows(asked, "Recipe: #tea")
    simulator.comment("IG", remote, "How long?", parent_id=comment)
    looks_until(asked, "How long?")
    form = form_of(asked, "Recipe")
    window.type(f"{form} textarea", "Three minutes.")
    window.click(f"{form} button:not({SETTLE})")
    shows(asked, "Three minutes.", "Sent")
