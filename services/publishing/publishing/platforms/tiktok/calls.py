"""Calls to TikTok's API, and what an answer or none says about the outcome."""

import json
from typing import Any

from publishing.platforms.base import Account, OutcomeUnknown
from publishing.platforms.pieces import Piece
from publishing.platforms.pinning import is_pinned
from publishing.platforms.tiktok.errors import error_in, is_broken, refusal_from
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.wire import Reply, Wire, strange, transient

Answer = dict[str, Any]


class PostingApi:
    """The Content Posting API and what belongs to it. Every method raises PlatformRefusal."""

    def __init__(self, settings: TikTokSettings) -> None:
        self._settings = settings
        self._base = f"{settings.api_url.rstrip('/')}/v2"
        self._wire = Wire(
            connect_timeout_seconds=settings.connect_timeout_seconds,
            read_timeout_seconds=settings.read_timeout_seconds,
        )

    def ask(
        self, account: Account, path: str, body: Answer | None = None, *, visible: bool = False
    ) -> Answer:
        """The `data` of an answer; a POST unless there is no body. `visible`: raises OutcomeUnknown as well."""
        headers = {"Authorization": f"Bearer {account.access_token}"}
        sent = None
        if body is not None:
            headers["Content-Type"] = "application/json; charset=UTF-8"
            sent = json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        return judged(
            self._wire.send(method, f"{self._base}/{path}", headers=headers, body=sent, visible=visible),
            visible,
        )

    def creator(self, account: Account) -> Answer:
        """What the account may post now: to be asked before every post."""
        return self.ask(account, "post/publish/creator_info/query/", {})

    def status(self, account: Account, publish_id: str) -> Answer:
        """How far a post is."""
        return self.ask(account, "post/publish/status/fetch/", {"publish_id": publish_id})

    def put(self, upload_url: str, span: str, piece: Piece, *, completes: bool) -> Reply:
        """A chunk of a file, as TikTok's upload hosts answer it: in the status alone. The token is in the address.
        `completes`: it is the last one, which makes the post."""
        if not is_pinned(upload_url, self._settings.api_url, self._settings.upload_hosts):
            raise transient("STRANGE_UPLOAD", "TikTok's upload address lies somewhere else.")
        headers = {"Content-Range": f"bytes {span}"}
        return self._wire.send("PUT", upload_url, headers=headers, body=piece, completes=completes)


def judged(reply: Reply, visible: bool) -> Answer:
    """The `data` of a good answer. Raises what any other one says."""
    error = error_in(reply)
    if error is None:
        raise strange(reply, visible)
    if error["code"] == "ok" and reply.is_good:
        data = reply.body.get("data")
        return data if isinstance(data, dict) else {}
    if visible and is_broken(reply, error):
        raise OutcomeUnknown(f"HTTP {reply.status}, {error['code']}")
    raise refusal_from(reply, error)


def named(answer: Answer, name: str, *, visible: bool = False) -> str:
    """A value that an answer has to have."""
    value = answer.get(name)
    if value:
        return str(value)
    message = f"The platform's answer names no {name}."
    raise OutcomeUnknown(message) if visible else transient("NO_ID", message)
