"""What tests of the dashboard's inbox share: what it shows, the form below a comment, and waiting for new comments."""

import datetime as dt
from typing import Any

from e2e_kit.api import instant, stamp
from e2e_kit.waiting import until

SHOWN = "return document.querySelector('#inbox').innerText"


def shows(person: Any, *texts: str) -> None:
    def are_there() -> bool:
        shown = person.window.run(SHOWN)
        return all(text in shown for text in texts)

    until(are_there, 20, f"the inbox shows {texts}")


def form_of(person: Any, text: str) -> str:
    """Returns the selector of the form below a comment."""
    name: str = person.window.run(
        "return [...document.querySelectorAll('.conversations > li')]"
        f".find(it => it.innerText.includes('{text}')).querySelector('textarea').id"
    )
    return f"form:has(#{name})"


def looks_until(person: Any, text: str) -> None:
    """Brings the window to the front again and again until the inbox shows this text: each time the inbox looks for
    new comments.
    """

    def is_there() -> bool:
        person.window.run("document.dispatchEvent(new Event('visibilitychange'))")
        return text in person.window.run(SHOWN)

    until(is_there, 60, f"{text} appears", pause_seconds=0.5)


def read_an_hour_ago(person: Any) -> None:
    """Marks the comments as read an hour ago, for a person who has not opened the inbox yet."""
    body = {"read_until": stamp(dt.datetime.now(dt.UTC) - dt.timedelta(hours=1))}
    answer = person.account.api.call("PUT", "/comments/read", json=body)
    assert answer.status_code == 200, answer.text


def is_read_now(person: Any) -> None:
    """Brings the window to the front again and again until the inbox has told the server that the person has read the
    comments.
    """
    began_at = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5)

    def is_told() -> bool:
        person.window.run("document.dispatchEvent(new Event('visibilitychange'))")
        api = person.account.api
        posts = api.get("/posts/published", with_comments="true")["published_posts"]
        comments = [it for post in posts for it in api.get("/comments", post_id=post["id"])["comments"]]
        newest = max((instant(it["received_at"]) for it in comments), default=began_at)
        marks = [it["comments_read_until"] for it in posts]
        return all(mark and instant(mark) > max(began_at, newest) for mark in marks)

    until(is_told, 30, "the mark is stored", pause_seconds=1.0)
