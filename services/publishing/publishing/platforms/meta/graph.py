"""What Facebook and Instagram share: calling the Graph API, and what an answer or none says about the outcome."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from publishing.platforms.base import (
    Account,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.lists import pages_read
from publishing.platforms.meta.errors import BROKEN_CODES, refusal_from, wait_in
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.multipart import Multipart
from publishing.platforms.wire import Reply, Wire, strange, transient

Answer = dict[str, Any]

#: Rows a look-up reads at most: far more than any page may post in its window.
_PAGES_READ = 10
ROWS_PER_PAGE = 100


class Graph:
    """One host of the Graph API. Every method raises PlatformRefusal; `create` and `finish` raise OutcomeUnknown."""

    def __init__(self, base_url: str, settings: MetaSettings) -> None:
        self._base = f"{base_url.rstrip('/')}/{settings.graph_version}"
        self._secret = settings.app_secret.encode()
        self._wire = Wire(
            connect_timeout_seconds=settings.connect_timeout_seconds,
            read_timeout_seconds=settings.read_timeout_seconds,
        )

    def read(self, account: Account, node: str, edge: str = "", **params: Any) -> Answer:
        """GET: may be repeated at will."""
        return self._call("GET", account, node, edge, params=params)

    def rows(
        self, account: Account, node: str, edge: str, *, until: float | None = None, **params: Any
    ) -> Iterator[Answer]:
        """All rows of a list. Raises PlatformRefusal too when it does not end within reason, or by `until`."""
        for _ in pages_read(_PAGES_READ, until):
            answer = self.read(account, node, edge, limit=ROWS_PER_PAGE, **params)
            yield from rows_of(answer)
            after = next_cursor(answer)
            if after is None:
                return
            params["after"] = after

    def ask(
        self,
        account: Account,
        node: str,
        edge: str,
        file: Mapping[str, MediaSource] | None = None,
        **params: Any,
    ) -> Answer:
        """POST of a wish that may be repeated at will; `file` is one, by the name of its field."""
        return self._call("POST", account, node, edge, data=params, file=file)

    def stage(
        self, account: Account, node: str, edge: str, data: Answer, file: MediaSource | None = None
    ) -> str:
        """POST of something nobody sees yet, so that it may be repeated; its id. `file` is sent as `source`."""
        files = {"source": file} if file else None
        return self._id(self._call("POST", account, node, edge, data=data, file=files), PlatformRefusal)

    def create(
        self,
        account: Account,
        node: str,
        edge: str,
        data: Answer,
        file: MediaSource | None = None,
        fields: str | None = None,
    ) -> Answer:
        """POST of something visible: sent once. The answer has an `id`."""
        params, files = {"fields": fields} if fields else {}, {"source": file} if file else None
        answer = self._call("POST", account, node, edge, params=params, data=data, file=files, visible=True)
        self._id(answer, OutcomeUnknown)
        return answer

    def finish(self, account: Account, node: str, edge: str, **params: Any) -> None:
        """POST that makes something staged visible: sent once. Raises OutcomeUnknown."""
        if self._call("POST", account, node, edge, data=params, visible=True).get("success") is not True:
            raise OutcomeUnknown("the platform does not say that it worked")

    def delete(self, account: Account, node: str) -> None:
        """Remove something staged, if that can be; an orphan does no harm."""
        with suppress(PlatformRefusal):
            self._call("DELETE", account, node, "")

    def _call(
        self,
        method: str,
        account: Account,
        node: str,
        edge: str,
        *,
        params: Answer | None = None,
        data: Answer | None = None,
        file: Mapping[str, MediaSource] | None = None,
        visible: bool = False,
    ) -> Answer:
        url = "/".join(filter(None, (self._base, quote(node, safe=""), edge)))
        query = _given(params or {})
        if self._secret:
            proof = hmac.new(self._secret, account.access_token.encode(), hashlib.sha256)
            query["appsecret_proof"] = proof.hexdigest()
        if query:
            url = f"{url}?{urlencode(query)}"
        headers = {"Authorization": f"Bearer {account.access_token}"}
        body: bytes | Multipart | None = None
        if method == "POST":
            fields = _given(data or {})
            body = urlencode(fields).encode()
            for name, source in (file or {}).items():
                body = Multipart(fields, name, source)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return _judged(self._wire.send(method, url, headers=headers, body=body, visible=visible), visible)

    @staticmethod
    def _id(answer: Answer, missing: type[Exception]) -> str:
        if answer.get("id"):
            return str(answer["id"])
        message = "The platform's answer names no id."
        raise OutcomeUnknown(message) if missing is OutcomeUnknown else transient("NO_ID", message)


def _given(values: Answer) -> Answer:
    return {name: value for name, value in values.items() if value is not None}


def _judged(reply: Reply, visible: bool) -> Answer:
    """The body of a good answer. Raises what any other one says."""
    body = reply.body
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(body, dict) and error is None and reply.is_good:
        return body
    if not isinstance(error, dict):
        raise strange(reply, visible, wait_in(reply.headers))
    if visible and (reply.status >= 500 or error.get("code") in BROKEN_CODES):
        raise OutcomeUnknown(f"HTTP {reply.status}, code {error.get('code')}")
    refusal = refusal_from(error, reply.headers)
    if reply.status >= 500:
        # A platform in trouble may say anything; a page is not cut off for it.
        refusal.kind, refusal.wait_seconds = Refusal.TRANSIENT, wait_in(reply.headers)
    raise refusal


def rows_of(answer: Answer) -> list[Answer]:
    """The objects in a list's answer."""
    rows = answer.get("data")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def next_cursor(answer: Answer) -> str | None:
    """Where the next page begins. The `next` address is not followed: it could name any host."""
    paging = answer.get("paging") or {}
    return str(paging["cursors"]["after"]) if paging.get("next") and "cursors" in paging else None


def graph_time(text: Any) -> datetime | None:
    """`2026-08-07T12:34:56+0000` as an aware time in UTC; None for anything else."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").astimezone(UTC)
    except (TypeError, ValueError):
        return None


def is_within(row: Mapping[str, Any], time_field: str, start: datetime) -> bool:
    """Whether a row was made since then; one that does not tell may have been."""
    made_at = graph_time(row.get(time_field))
    return made_at is None or made_at >= start
