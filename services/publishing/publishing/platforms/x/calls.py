"""Calling X's API: what an answer, a problem or none says about the outcome."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from publishing.platforms.base import Account, OutcomeUnknown
from publishing.platforms.lists import pages_read
from publishing.platforms.multipart import Multipart
from publishing.platforms.wire import Reply, Wire, strange
from publishing.platforms.x.errors import problem_of, refusal_from
from publishing.platforms.x.settings import XSettings

Answer = dict[str, Any]

#: Rows a look-up reads at most: X takes 100 posts in 15 minutes.
_PAGES_READ = 10
_ROWS_PER_PAGE = 100


class Calls:
    """Every method raises PlatformRefusal; `create` alone raises OutcomeUnknown."""

    def __init__(self, settings: XSettings) -> None:
        self._base = f"{settings.api_url.rstrip('/')}/2"
        self._fields_parameter = settings.fields_parameter
        self._wire = Wire(
            connect_timeout_seconds=settings.connect_timeout_seconds,
            read_timeout_seconds=settings.read_timeout_seconds,
        )

    def read(self, account: Account, path: str, post_fields: str | None = None, **params: Any) -> Answer:
        """GET: may be repeated at will. A point in a parameter's name is written `__`."""
        query = {name.replace("__", "."): value for name, value in params.items() if value is not None}
        if post_fields:
            query[self._fields_parameter] = post_fields
        url = f"{self._base}/{path}"
        return self._call("GET", account, f"{url}?{urlencode(query)}" if query else url)

    def own_posts(self, account: Account, start: datetime, post_fields: str) -> Iterator[Answer]:
        """The account's posts and replies made since then, newest first."""
        path, token = f"users/{quote(account.remote_account_id, safe='')}/tweets", None
        for _ in pages_read(_PAGES_READ):
            answer = self.read(
                account,
                path,
                post_fields,
                start_time=timestamp(start),
                max_results=_ROWS_PER_PAGE,
                pagination_token=token,
            )
            yield from rows_of(answer)
            token = (answer.get("meta") or {}).get("next_token")
            if not token:
                return

    def stage(self, account: Account, path: str, data: Answer | Multipart | None = None) -> Answer:
        """POST of something nobody sees yet, so that it may be repeated."""
        return self._call("POST", account, f"{self._base}/{path}", data)

    def create(self, account: Account, data: Answer) -> str:
        """A post or reply: sent once; its id."""
        made = self._call("POST", account, f"{self._base}/tweets", data, visible=True).get("data")
        if not isinstance(made, dict) or not made.get("id"):
            raise OutcomeUnknown("The platform's answer names no id.")
        return str(made["id"])

    def _call(
        self,
        method: str,
        account: Account,
        url: str,
        data: Answer | Multipart | None = None,
        *,
        visible: bool = False,
    ) -> Answer:
        headers = {"Authorization": f"Bearer {account.access_token}"}
        body = data if isinstance(data, Multipart) else None
        if isinstance(data, dict):
            headers["Content-Type"] = "application/json"
            encoded = json.dumps(data).encode()
            return judged(
                self._wire.send(method, url, headers=headers, body=encoded, visible=visible), visible
            )
        return judged(self._wire.send(method, url, headers=headers, body=body, visible=visible), visible)


def judged(reply: Reply, visible: bool) -> Answer:
    """The body of a good answer. Raises what any other one says."""
    problem = problem_of(reply.body)
    if reply.is_good and isinstance(reply.body, dict) and (problem is None or "data" in reply.body):
        return reply.body
    if problem is None:
        raise strange(reply, visible)
    if visible and (reply.status >= 500 or reply.is_good):
        raise OutcomeUnknown(f"HTTP {reply.status}: {problem.get('title')}")
    raise refusal_from(problem, reply.status, reply.headers, visible)


def rows_of(answer: Answer) -> list[Answer]:
    """The objects in a list's answer; X leaves the list out when there are none."""
    rows = answer.get("data")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def timestamp(moment: datetime) -> str:
    """As X takes times: whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def post_time(text: Any) -> datetime | None:
    """`2026-08-07T12:34:56.000Z` as an aware time; None for anything else."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError):
        return None
