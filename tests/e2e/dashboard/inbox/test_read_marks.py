"""What is new in the inbox is the same on each device of a person, and each person has marks of their own."""

from typing import Any

from e2e_kit.api import instant, stamp
from e2e_kit.inbox import is_read_now, looks_until, read_an_hour_ago, shows
from e2e_kit.operator import Accounts
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

PASSWORD = "the owner's own"
MARKED = (
    "return [...document.querySelectorAll('.new-mark:not([hidden])')].map(it => it.closest('li').innerText)"
)


def on_another_device(person: Any, accounts: Accounts) -> None:
    """Continues in a browser that knows nothing of the person, who signs in anew."""
    person.open("/healthz")
    person.window.forget()
    person.window.run("sessionStorage.clear()")
    token = accounts.log_in(person.account, PASSWORD)["session_token"]
    person.window.keep_cookie("posthaste_session", token)


def test_what_was_read_on_one_device_is_not_new_on_another(
    asked: Any, accounts: Accounts, simulator: Simulator
) -> None:
    window, api = asked.window, asked.account.api
    read_an_hour_ago(asked)
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    until(lambda: len(window.run(MARKED)) == 2, 20, "both are new")
    is_read_now(asked)
    on_another_device(asked, accounts)
    asked.open("/comments")
    shows(asked, "Do you have spelt?", "Until when are you open?")
    assert window.run(MARKED) == []
    [remote] = [
        it["remote_id"] for it in api.get("/posts/published")["published_posts"] if it["platform"] == "FB"
    ]
    simulator.comment("FB", remote, "And rye?")
    looks_until(asked, "And rye?")
    until(lambda: ["And rye?" in it for it in window.run(MARKED)] == [True], 20, "the new one is marked")


def test_a_comment_that_was_received_late_is_new(asked: Any) -> None:
    """It was written before the person last looked, and received afterwards."""
    window, api = asked.window, asked.account.api
    post, *_ = api.get("/posts/published")["published_posts"]
    [late] = api.get("/comments", post_id=post["id"])["comments"]
    written_at, received_at = instant(late["created_time"]), instant(late["received_at"])
    assert written_at < received_at
    body = {"read_until": stamp(written_at + (received_at - written_at) / 2), "brand_id": post["brand_id"]}
    api.call("PUT", "/comments/read", json=body)
    asked.open("/comments")
    until(lambda: [late["text"] in it for it in window.run(MARKED)].count(True) == 1, 20, "it is marked")


def test_who_looks_at_some_comments_only_has_not_read_the_others(asked: Any) -> None:
    window, api = asked.window, asked.account.api
    read_an_hour_ago(asked)
    marks = {it["comments_read_until"] for it in listed(api)}
    for query in ("?platform=FB", f"?page={asked.account.page_id('FB')}", "?state=answered"):
        asked.open(f"/comments{query}")
        assert not window.has("#inbox[data-read]")
    asked.open("/posts")
    assert {it["comments_read_until"] for it in listed(api)} == marks
    asked.open(f"/comments?brand={asked.account.brand_id}")
    is_read_now(asked)


def test_a_colleague_has_marks_of_their_own(asked: Any, accounts: Accounts, stack: Stack) -> None:
    entered = accounts.enter(asked.account.brand_id, "limited")
    colleague = accounts.client(entered["session_token"])
    read_an_hour_ago(asked)
    assert {it["comments_read_until"] for it in listed(colleague)} == {None}
    asked.open("/comments")
    is_read_now(asked)
    assert {it["comments_read_until"] for it in listed(colleague)} == {None}


def listed(api: Any) -> Any:
    return api.get("/posts/published", with_comments="true")["published_posts"]
