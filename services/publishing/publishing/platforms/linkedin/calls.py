"""Calling LinkedIn's REST API: what an answer, an error or none says about the outcome."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode

from publishing.platforms.base import Account, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.linkedin.errors import REVOKED, codes_of, is_error, refusal_from
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.lists import pages_read
from publishing.platforms.pinning import is_pinned
from publishing.platforms.wire import Reply, SizedBody, Wire, strange, transient

Answer = dict[str, Any]

#: Rows a look-up reads at most: LinkedIn takes some 100 posts a day.
_PAGES_READ = 5
_ROWS_PER_PAGE = 100


class Calls:
    """Every method raises PlatformRefusal; `create` alone raises OutcomeUnknown."""

    def __init__(self, settings: LinkedInSettings) -> None:
        self._settings = settings
        self._url = settings.api_url.rstrip("/")
        self._wire = Wire(
            connect_timeout_seconds=settings.connect_timeout_seconds,
            read_timeout_seconds=settings.read_timeout_seconds,
        )

    def read(self, account: Account, path: str, *, method: str = "GET", **params: Any) -> Answer:
        """GET: may be repeated at will. `path` begins below /rest, or is `v2/…`. `method`: Rest.li's own name of it."""
        query = {name: value for name, value in params.items() if value is not None}
        more = {} if method == "GET" else {"X-RestLi-Method": method}
        body = self._call("GET", account, path, query, headers=more).body
        if not isinstance(body, dict):
            raise transient("NO_BODY", "The platform's answer says nothing.")
        return body

    def rows(
        self, account: Account, path: str, *, until: float | None = None, **params: Any
    ) -> Iterator[Answer]:
        """All rows of a list. Raises PlatformRefusal too when it does not end within reason, or by `until`."""
        for page in pages_read(_PAGES_READ, until):
            answer = self.read(account, path, start=page * _ROWS_PER_PAGE, count=_ROWS_PER_PAGE, **params)
            rows = rows_of(answer)
            yield from rows
            if len(rows) < _ROWS_PER_PAGE:
                return

    def act(self, account: Account, path: str, action: str, **request: Any) -> Answer:
        """An action on something nobody sees yet, so that it may be repeated; what is in its answer's `value`."""
        reply = self._call("POST", account, path, {"action": action}, {f"{action}Request": request})
        value = reply.body.get("value") if isinstance(reply.body, dict) else None
        return value if isinstance(value, dict) else {}

    def create(self, account: Account, path: str, data: Answer) -> tuple[str, Answer]:
        """POST of something visible: sent once; (`x-restli-id`, the body, which is empty for a post)."""
        reply = self._call("POST", account, path, {}, data, visible=True)
        made_id = reply.headers.get("x-restli-id") or reply.headers.get("x-linkedin-id")
        if not made_id:
            raise OutcomeUnknown("The platform's answer names no id.")
        return unquote(made_id), reply.body if isinstance(reply.body, dict) else {}

    def put(self, account: Account, url: str, body: SizedBody, *, with_token: bool) -> str:
        """A file or part of it to the address LinkedIn gave; the part's ETag without its quotes."""
        if not is_pinned(url, self._url, self._settings.upload_hosts):
            raise PlatformRefusal(
                Refusal.REJECTED, "STRANGE_HOST", "LinkedIn names an upload host that is not its own."
            )
        headers = {"Authorization": f"Bearer {account.access_token}"} if with_token else {}
        reply = self._wire.send("PUT", url, headers=headers, body=body)
        if not reply.is_good:
            raise self._refused(reply) if is_error(reply.body) else _refused_part(reply)
        return str(reply.headers.get("ETag") or "").strip('"')

    def _call(
        self,
        method: str,
        account: Account,
        path: str,
        query: Answer,
        data: Answer | None = None,
        *,
        headers: dict[str, str] | None = None,
        visible: bool = False,
    ) -> Reply:
        url = f"{self._url}/{path if path.startswith('v2/') else f'rest/{path}'}"
        sent = {
            "Authorization": f"Bearer {account.access_token}",
            "LinkedIn-Version": self._settings.version,
            "X-Restli-Protocol-Version": "2.0.0",
            "Content-Type": "application/json",
        } | (headers or {})
        body = None if data is None else json.dumps(data).encode()
        url = f"{url}?{urlencode(query)}" if query else url
        reply = self._wire.send(method, url, headers=sent, body=body, visible=visible)
        if reply.status == 401 and str(REVOKED) in codes_of(reply.body):
            # Said of a token that is too new as well; whatever was asked has not been done.
            time.sleep(self._settings.revoked_wait_seconds)
            reply = self._wire.send(method, url, headers=sent, body=body, visible=visible)
        if reply.is_good:
            return reply
        if not is_error(reply.body):
            raise strange(reply, visible)
        if visible and reply.status >= 500:
            raise OutcomeUnknown(f"HTTP {reply.status}: {reply.body.get('message')}")
        raise self._refused(reply)

    def _refused(self, reply: Reply) -> PlatformRefusal:
        return refusal_from(reply.body, reply.status, reply.headers, self._settings.version)


def _refused_part(reply: Reply) -> PlatformRefusal:
    """A part that was not taken, told by the status alone: the address may have lapsed."""
    kind = Refusal.TRANSIENT if reply.status >= 500 or reply.status in (408, 429) else Refusal.REJECTED
    return PlatformRefusal(kind, f"HTTP_{reply.status}", "LinkedIn did not take the file.")


def in_path(urn: str) -> str:
    """A URN as a part of an address."""
    return quote(urn, safe="")


def rows_of(answer: Answer) -> list[Answer]:
    """The objects in a list's answer."""
    rows = answer.get("elements")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def from_milliseconds(value: Any) -> datetime | None:
    """LinkedIn's times; None for anything else."""
    return datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int) and value > 0 else None
