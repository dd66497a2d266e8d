"""Schedules posts and waits for their outcome, and publishes posts on which visitors comment."""

import datetime as dt

from e2e_kit.api import Api, Json, stamp
from e2e_kit.operator import Account
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: Longest time from the moment when a post is due until it is published, on a machine that is busy with other tests.
PUBLISH_SECONDS = 30.0


def from_now(**later: float) -> str:
    return stamp(dt.datetime.now(dt.UTC) + dt.timedelta(**later))


def tomorrow(**later: float) -> str:
    return from_now(**{"days": 1, **later})


def schedule(account: Account, platform: str = "FB", **content: object) -> Json:
    """Schedules a post on the account's page of this platform, by default for tomorrow. Returns the post."""
    body = {"page_id": account.page_id(platform), "scheduled_at": tomorrow(), **content}
    post: Json = account.api.post("/posts/schedule", body)["scheduled_post"]
    return post


def shown(api: Api, post_id: str) -> Json:
    post: Json = api.get(f"/posts/scheduled/{post_id}")["scheduled_post"]
    return post


def await_post(
    api: Api, post_id: str, seconds: float = PUBLISH_SECONDS, *, pause_seconds: float = 0.25, **fields: object
) -> Json:
    """Waits until the post has these values in its fields, and returns it."""

    def look() -> Json | None:
        post = shown(api, post_id)
        return post if {name: post[name] for name in fields} == fields else None

    try:
        return until(look, seconds, pause_seconds=pause_seconds)
    except AssertionError:
        raise AssertionError(f"not {fields} within {seconds} s: {shown(api, post_id)}") from None


class Conversation:
    """A published post with a visitor's comment, on the given page or on the account's Facebook page.

    A reply to the comment causes an event at once (`comment.replied`).
    """

    def __init__(self, account: Account, simulator: Simulator, page: Json | None = None) -> None:
        self.account = account
        self.page: Json = page or account.pages["FB"]
        self.post: Json = account.api.post(
            "/posts/publish", {"page_id": self.page["id"], "message": "Fresh rye"}
        )
        simulator.comment(self.page["platform"], self.post["platform_post_id"], "Spelt, too?")
        [self.comment] = account.api.get("/comments", post_id=self.post["post_id"])["comments"]

    def reply(self, message: str = "Every Friday", key: str | None = None) -> Json:
        body = {"page_id": self.page["id"], "comment_id": self.comment["id"], "message": message}
        reply: Json = self.account.api.post("/comments/reply", body, key=key)["reply"]
        return reply
