"""Calls to the YouTube Data API, and what an answer or none says about the outcome."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from publishing.platforms.base import Account, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.lists import pages_read
from publishing.platforms.pieces import Piece
from publishing.platforms.pinning import is_pinned
from publishing.platforms.wire import Reply, Wire, strange, transient
from publishing.platforms.youtube.errors import is_broken, refusal_from
from publishing.platforms.youtube.settings import YouTubeSettings

Answer = dict[str, Any]

#: Rows a look-up reads at most: far more than any channel may upload or answer in its window.
_PAGES_READ = 10
#: The probe of a session and a lost one (platforms.md 7).
LOST_SESSION = (404, 410)


class DataApi:
    """The Data API. Every method raises PlatformRefusal; `create` and `put` raise OutcomeUnknown as well."""

    def __init__(self, settings: YouTubeSettings) -> None:
        self._settings = settings
        self._base = f"{settings.api_url.rstrip('/')}/youtube/v3"
        self._uploads = f"{settings.upload_url.rstrip('/')}/upload/youtube/v3/videos"
        self._wire = Wire(
            connect_timeout_seconds=settings.connect_timeout_seconds,
            read_timeout_seconds=settings.read_timeout_seconds,
        )

    def read(self, account: Account, resource: str, **params: Any) -> Answer:
        """GET: may be repeated at will."""
        reply = self._wire.send("GET", self._address(resource, params), headers=_headers(account))
        return judged(reply, visible=False)

    def rows(
        self, account: Account, resource: str, *, until: float | None = None, **params: Any
    ) -> Iterator[Answer]:
        """All items of a list. Raises PlatformRefusal too when it does not end within reason, or by `until`."""
        for _ in pages_read(_PAGES_READ, until):
            answer = self.read(account, resource, **params)
            yield from items_of(answer)
            token = answer.get("nextPageToken")
            if not token:
                return
            params["pageToken"] = token

    def create(self, account: Account, resource: str, body: Answer, **params: Any) -> Answer:
        """POST of something visible: sent once. The answer has an `id`."""
        headers = _headers(account) | {"Content-Type": "application/json; charset=UTF-8"}
        reply = self._wire.send(
            "POST",
            self._address(resource, params),
            headers=headers,
            body=json.dumps(body).encode(),
            visible=True,
        )
        answer = judged(reply, visible=True)
        if not answer.get("id"):
            raise OutcomeUnknown("The platform's answer names no id.")
        return answer

    def begin_upload(self, account: Account, video: Answer, size_bytes: int, content_type: str) -> str:
        """The address of a new upload session: nobody sees anything before its last byte."""
        query = urlencode({"uploadType": "resumable", "part": "snippet,status"})
        headers = _headers(account) | {
            "Content-Type": "application/json; charset=UTF-8",
            "X-Upload-Content-Type": content_type,
            "X-Upload-Content-Length": str(size_bytes),
        }
        reply = self._wire.send(
            "POST", f"{self._uploads}?{query}", headers=headers, body=json.dumps(video).encode()
        )
        if not reply.is_good:
            judged(reply, visible=False)
        session = reply.headers.get("Location", "")
        if not is_pinned(session, self._settings.upload_url, self._settings.upload_hosts):
            raise PlatformRefusal(
                Refusal.TRANSIENT, "STRANGE_SESSION", "YouTube's upload session lies somewhere else."
            )
        return session

    def put(
        self, account: Account, session: str, span: str, body: Piece | None = None, *, visible: bool = False
    ) -> Reply:
        """A piece of the file, or a probe without one; an answer that the protocol knows."""
        if not is_pinned(session, self._settings.upload_url, self._settings.upload_hosts):
            raise transient("STRANGE_SESSION", "YouTube's upload session lies somewhere else.")
        headers = _headers(account) | {"Content-Range": f"bytes {span}"}
        reply = self._wire.send(
            "PUT", session, headers=headers, body=b"" if body is None else body, visible=visible
        )
        if not reply.is_good and reply.status not in (308, *LOST_SESSION):
            judged(reply, visible)
        return reply

    def _address(self, resource: str, params: Answer) -> str:
        given = {name: value for name, value in params.items() if value is not None}
        return f"{self._base}/{resource}?{urlencode(given)}"


def _headers(account: Account) -> dict[str, str]:
    return {"Authorization": f"Bearer {account.access_token}"}


def judged(reply: Reply, visible: bool) -> Answer:
    """The body of a good answer. Raises what any other one says."""
    if reply.is_good and isinstance(reply.body, dict):
        return reply.body
    refusal = refusal_from(reply)
    if refusal is None:
        raise strange(reply, visible)
    if visible and is_broken(reply):
        raise OutcomeUnknown(f"HTTP {reply.status}, {refusal.code}")
    raise refusal


def items_of(answer: Answer) -> list[Answer]:
    """The resources in a list's answer."""
    rows = answer.get("items")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def rfc3339(text: Any) -> datetime | None:
    """`2026-08-07T12:34:56Z` as an aware time in UTC; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None
