"""What Facebook and Instagram share: calling the Graph API, and what an answer or none says about the outcome."""

import hashlib
import hmac
import json
import socket
import ssl
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

import certifi
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    TimeoutError,  # noqa: A004
)

from publishing.platforms.base import (
    Account,
    Content,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.meta_errors import BROKEN_CODES, refusal_from, wait_in
from publishing.platforms.multipart import Multipart

T = TypeVar("T")
Answer = dict[str, Any]

#: Connections kept open to the API's host. Our choice.
_POOL_SIZE = 64
_LONGEST_POLL_SECONDS = 5.0
#: How far Meta's clock and ours may differ when posts of an attempt are looked for. Our choice: generous, since
#: the text must be the same as well and posts that are known are left out.
_CLOCK_TOLERANCE = timedelta(minutes=10)
#: Rows a look-up reads at most: far more than any page may post in its window.
_PAGES_READ = 10
ROWS_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class MetaSettings:
    """How to reach the Graph API. Times in seconds."""

    facebook_url: str = "https://graph.facebook.com"
    instagram_url: str = "https://graph.facebook.com"
    graph_version: str = "v26.0"
    #: Signs every call (`appsecret_proof`) when set.
    app_secret: str = field(default="", repr=False)
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: First wait between two looks at a container or video; doubles up to 5 s. Our choice.
    poll_seconds: float = 0.5
    #: Longest one attempt waits for processing. A publish at once has to answer within the gateway's 60 s. Meta may
    #: take five minutes (platforms.md 3): the next attempt of a scheduled post goes on with what is staged. Our choice.
    poll_limit_seconds: float = 25.0


class Graph:
    """One host of the Graph API. Every method raises PlatformRefusal; `create` alone raises OutcomeUnknown."""

    def __init__(self, base_url: str, settings: MetaSettings) -> None:
        self._base = f"{base_url.rstrip('/')}/{settings.graph_version}"
        self._secret = settings.app_secret.encode()
        # Not requests: most of its time per call goes to cookies, hooks and sessions that these calls do not have.
        # Proxies of the environment are not asked.
        self._pool = urllib3.PoolManager(
            maxsize=_POOL_SIZE,
            retries=False,
            timeout=urllib3.Timeout(settings.connect_timeout_seconds, settings.read_timeout_seconds),
            cert_reqs="CERT_REQUIRED",
            ca_certs=certifi.where(),
        )

    def read(self, account: Account, node: str, edge: str = "", **params: Any) -> Answer:
        """GET: may be repeated at will."""
        return self._call("GET", account, node, edge, params=params)

    def rows(self, account: Account, node: str, edge: str, **params: Any) -> Iterator[Answer]:
        """All rows of a list. Raises PlatformRefusal too when it does not end within reason."""
        for _ in range(_PAGES_READ):
            answer = self.read(account, node, edge, limit=ROWS_PER_PAGE, **params)
            yield from rows_of(answer)
            after = next_cursor(answer)
            if after is None:
                return
            params["after"] = after
        raise PlatformRefusal(Refusal.TRANSIENT, "TOO_MANY", "The platform's list does not end.")

    def stage(
        self, account: Account, node: str, edge: str, data: Answer, file: MediaSource | None = None
    ) -> str:
        """POST of something nobody sees yet, so that it may be repeated; its id. `file` is sent as `source`."""
        return self._id(self._call("POST", account, node, edge, data=data, file=file), PlatformRefusal)

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
        params = {"fields": fields} if fields else {}
        answer = self._call("POST", account, node, edge, params=params, data=data, file=file, visible=True)
        self._id(answer, OutcomeUnknown)
        return answer

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
        file: MediaSource | None = None,
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
            body = Multipart(fields, "source", file) if file else urlencode(fields).encode()
            headers |= _described(body)
        try:
            response = self._pool.urlopen(
                method, url, body=cast(Iterable[bytes], body), headers=headers, redirect=False
            )
        except (HTTPError, OSError) as error:
            may_have_come = not isinstance(body, Multipart) or body.is_sent
            raise _no_answer(error, visible and may_have_come) from error
        return _judged(response, visible)

    @staticmethod
    def _id(answer: Answer, missing: type[Exception]) -> str:
        if answer.get("id"):
            return str(answer["id"])
        message = "The platform's answer names no id."
        raise OutcomeUnknown(message) if missing is OutcomeUnknown else _transient("NO_ID", message)


def _given(values: Answer) -> Answer:
    return {name: value for name, value in values.items() if value is not None}


def _described(body: bytes | Multipart) -> dict[str, str]:
    if isinstance(body, Multipart):
        return {"Content-Type": body.content_type, "Content-Length": str(body.length_bytes)}
    return {"Content-Type": "application/x-www-form-urlencoded"}


def _judged(response: urllib3.BaseHTTPResponse, visible: bool) -> Answer:
    """The body of a good answer. Raises what any other one says."""
    try:
        body = _storable(response.json())
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(body, dict) and error is None and 200 <= response.status < 300:
        return body
    if not isinstance(error, dict):
        # Not Meta's own words: something on the way there or back. 429 is never said after the deed.
        if response.status == 429:
            raise PlatformRefusal(
                Refusal.RATE_LIMITED, "HTTP_429", "Too many calls.", wait_in(response.headers)
            )
        if visible:
            raise OutcomeUnknown(f"HTTP {response.status} without an answer of the platform")
        raise _transient(f"HTTP_{response.status}", "The platform did not answer as it should.")
    if visible and (response.status >= 500 or error.get("code") in BROKEN_CODES):
        raise OutcomeUnknown(f"HTTP {response.status}, code {error.get('code')}")
    refusal = refusal_from(error, response.headers)
    if response.status >= 500:
        # A platform in trouble may say anything; a page is not cut off for it.
        refusal.kind = Refusal.TRANSIENT
    raise refusal


def _storable(body: Any) -> Any:
    """Without lone surrogates (`\\ud83d` cut from an emoji), which neither PostgreSQL nor a JSON answer takes."""
    return json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))


def _no_answer(error: Exception, visible: bool) -> Exception:
    """What a call without an answer says: unknown if it was sent and makes something visible, else try again."""
    if visible and not _never_sent(error):
        return OutcomeUnknown(type(error).__name__)
    if isinstance(error, TimeoutError) and not isinstance(error, NewConnectionError):
        return _transient("TIMED_OUT", "The platform did not answer in time.")
    return _transient("UNREACHABLE", "The platform could not be reached.")


def _never_sent(error: BaseException) -> bool:
    """Whether the connection itself failed: then the platform has seen nothing of the call."""
    if isinstance(error, ConnectTimeoutError):  # refused and unresolved are kinds of it
        return True
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _transient(code: str, message: str) -> PlatformRefusal:
    return PlatformRefusal(Refusal.TRANSIENT, code, message)


def poll(settings: MetaSettings, look: Callable[[], T | None]) -> T | None:
    """Look again and again until there is an answer; None when the time is over."""
    until = time.monotonic() + settings.poll_limit_seconds
    wait_seconds = settings.poll_seconds
    while (found := look()) is None and time.monotonic() + wait_seconds < until:
        time.sleep(wait_seconds)
        wait_seconds = min(wait_seconds * 2, _LONGEST_POLL_SECONDS)
    return found


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


def window_start(began_at: datetime) -> datetime:
    """The earliest time at which an attempt's post may stand on the platform."""
    return min(began_at, datetime.now(UTC)) - _CLOCK_TOLERANCE


def is_within(row: Mapping[str, Any], time_field: str, start: datetime) -> bool:
    """Whether a row was made since then; one that does not tell may have been."""
    made_at = graph_time(row.get(time_field))
    return made_at is None or made_at >= start


def same_text(ours: str, theirs: Any) -> bool:
    """Whether two texts are one, whatever Meta did to its blanks and accents."""
    return _plain(ours) == _plain(theirs if isinstance(theirs, str) else "")


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def fingerprint(content: Content) -> str:
    """Says whether staged objects belong to this content."""
    media = [
        (source.type, source.url or hashlib.sha256(source.body or b"").hexdigest())
        for source in content.media
    ]
    text = json.dumps([content.message, media, dict(content.settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
