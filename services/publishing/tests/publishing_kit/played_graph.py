"""A fake of Meta's Graph API in this process. It keeps the posts of a page on Facebook and Instagram."""

import json
import random
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from publishing.platforms.base import Account, MediaSource, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.http_client import check_permission
from publishing.platforms.meta.errors import MISSING, PHOTOS_ALREADY_POSTED
from testkit.interleaving import Process

_CALLS = ("read", "create", "stage")


@dataclass
class PlayedGraph:
    """Replaces `publishing.platforms.meta.graph.Graph`. A picture is identified by its URL."""

    #: Probability that a call which publishes a post gets no answer: half of these calls have not published it.
    loses: float = 0.0
    draw: random.Random = field(default_factory=random.Random)
    posts: list[dict[str, Any]] = field(default_factory=list)
    #: Id of a staged photo or container → its picture, and whether a post has it.
    staged: dict[str, dict[str, Any]] = field(default_factory=dict)

    def pictures(self, account_id: str) -> list[str]:
        """Returns the picture of each of an account's posts, in order."""
        return [post["picture"] for post in self.posts if post["account"] == account_id]

    def shows(self, remote_id: str) -> str:
        """Returns the picture of the post with this id."""
        return next(post["picture"] for post in self.posts if post["id"] == remote_id)

    def stage(
        self, account: Account, node: str, edge: str, data: dict[str, Any], file: MediaSource | None = None
    ) -> str:
        staged_id = f"{edge}_{len(self.staged)}"
        self.staged[staged_id] = {"picture": _picture(data, file), "data": data, "is_out": False}
        return staged_id

    def create(
        self,
        account: Account,
        node: str,
        edge: str,
        data: dict[str, Any],
        file: MediaSource | None = None,
        fields: str | None = None,
    ) -> dict[str, Any]:
        check_permission()  # as the real HTTP client does, right before it sends
        if self.draw.random() < self.loses / 2:
            raise OutcomeUnknown("lost before it arrived")
        if edge == "photos":
            photo_id = self.stage(account, node, edge, data, file)
            post = self._post(account, data.get("message"), photo_id)
        elif edge == "media_publish":
            post = self._post(
                account, self._staged(data["creation_id"])["data"].get("caption"), data["creation_id"]
            )
        else:
            [attached] = json.loads(data["attached_media"])
            post = self._post(account, data.get("message"), attached["media_fbid"])
        if self.draw.random() < self.loses / 2:
            raise OutcomeUnknown("the answer was lost")
        return {**self._shown(post), "post_id": post["id"]}

    def read(self, account: Account, node: str, edge: str = "", **params: Any) -> dict[str, Any]:
        if "status_code" in str(params.get("fields")):
            return {"status_code": "PUBLISHED" if self._staged(node)["is_out"] else "FINISHED"}
        return self._shown(next(post for post in self.posts if post["id"] == node))

    def rows(self, account: Account, node: str, edge: str, **params: Any) -> Iterator[dict[str, Any]]:
        own = [post for post in self.posts if post["account"] == account.remote_account_id]
        yield from [self._shown(post) for post in reversed(own)]

    def delete(self, account: Account, node: str) -> None:
        self.staged.pop(node, None)

    def _staged(self, staged_id: str) -> dict[str, Any]:
        if staged_id not in self.staged:
            raise PlatformRefusal(Refusal.REJECTED, MISSING, "There is no such object.")
        return self.staged[staged_id]

    def _post(self, account: Account, text: str | None, staged_id: str) -> dict[str, Any]:
        staged = self._staged(staged_id)
        if staged["is_out"]:
            raise PlatformRefusal(Refusal.REJECTED, PHOTOS_ALREADY_POSTED, "It has been posted before.")
        staged["is_out"] = True
        made = {
            "id": f"{account.remote_account_id}_{len(self.posts)}", "account": account.remote_account_id,
            "text": text or "", "photo": staged_id, "picture": staged["picture"],
        }  # fmt: skip
        self.posts.append(made)
        return made

    def _shown(self, post: dict[str, Any]) -> dict[str, Any]:
        """Returns a post as both platforms show it, with the fields of each."""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
        photo = {"type": "photo", "media_type": "photo", "target": {"id": post["photo"]}}
        return {
            "id": post["id"], "message": post["text"], "caption": post["text"], "media_type": "IMAGE",
            "created_time": at, "timestamp": at, "attachments": {"data": [photo]},
        }  # fmt: skip


class GraphOf:
    """A PlayedGraph as one simulated process calls it. The process may be killed before and after each call."""

    def __init__(self, process: Process, graph: PlayedGraph) -> None:
        self._process, self._graph = process, graph

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._graph, name)
        lost = _unknown if name == "create" else _not_now
        return self._process.outside(call, lost=lost) if name in _CALLS else call

    def rows(self, *given: Any, **named: Any) -> Iterator[dict[str, Any]]:
        rows = self._process.outside(lambda: list(self._graph.rows(*given, **named)), lost=_not_now)
        yield from rows()


def opened(_url: str, size_bytes: int) -> Any:
    """Returns a function that opens a file of this size, in place of the storage."""
    return lambda: nullcontext(iter((bytes(size_bytes),)))


def _unknown() -> OutcomeUnknown:
    return OutcomeUnknown("the connection broke")


def _not_now() -> PlatformRefusal:
    return PlatformRefusal(Refusal.TRANSIENT, "UNREACHABLE", "The connection broke.")


def _picture(data: dict[str, Any], file: MediaSource | None) -> str:
    if file is None:
        return str(data.get("url") or data["image_url"])
    with file.open() as chunks:
        for _ in chunks:
            pass
    return str(file.url)
