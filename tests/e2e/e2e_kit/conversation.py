"""A published post with a visitor's comment. Every reply to it is an event immediately."""

from e2e_kit.api import Json
from e2e_kit.operator import Account
from e2e_kit.simulator import Simulator


class Conversation:
    """On the given page, or on the account's Facebook page."""

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
