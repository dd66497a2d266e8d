"""Only an answer of the page itself settles a conversation in the inbox."""

from typing import Any

from e2e_kit.inbox import SHOWN, form_of, shows
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until


def test_a_reply_of_another_visitor_settles_nothing_on_facebook(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"]
    question = simulator.comment("FB", post["remote_id"], "Is there rye?")
    simulator.comment("FB", post["remote_id"], "I wonder, too.", "Nora Neighbour", question)
    simulator.comment("FB", post["remote_id"], "So do I.", parent_id=question, named=False)
    asked.open("/comments")
    shows(asked, "Is there rye?", "I wonder, too.", "So do I.", "Do you have spelt?")
    window.type(f"{form_of(asked, 'rye')} textarea", "On Mondays.")
    window.click(f"{form_of(asked, 'rye')} button")
    shows(asked, "On Mondays.", "Sent")
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    assert "rye" not in window.run(SHOWN)


def test_an_answer_settles_a_comment_on_a_later_page_of_the_list(asked: Any, simulator: Simulator) -> None:
    window, api = asked.window, asked.account.api
    [post] = [it for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"]
    open_id = simulator.comment("FB", post["remote_id"], "And barley?")
    [spelt] = [it for it in comments_on(api, post) if it["text"] == "Do you have spelt?"]
    for number in range(50):
        simulator.comment("FB", post["remote_id"], f"Thought number {number}.")
    simulator.comment("FB", post["remote_id"], "I wonder, too.", parent_id=open_id)
    reply = {"page_id": post["page_id"], "comment_id": spelt["id"], "message": "Every Friday!"}
    api.post("/comments/reply", reply)
    asked.open("/comments")
    shows(asked, "Thought number 40.")
    window.click(".threads a[hx-get*='after=']")
    shows(asked, "And barley?")
    assert "spelt" not in window.run(SHOWN)
    asked.open(f"/comments/of/{post['id']}")
    window.click(".threads a[href*='after=']")
    until(lambda: "spelt" in window.text("main"), 20, "all conversations are shown")
    assert window.has("details:not([open])"), "an answered one offers to reply again"


def comments_on(api: Any, post: Any) -> Any:
    return api.get("/comments", post_id=post["id"])["comments"]
