"""Calls the Graph API for Facebook and Instagram, and concludes a call's outcome from its answer or the lack of one."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from publishing.platforms.base import Account, MediaSource, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.http_client import (
    Answer,
    HttpClient,
    Response,
    bearer,
    iso_time,
    objects,
    required,
    unrecognised,
)
from publishing.platforms.lists import page_numbers
from publishing.platforms.meta.errors import BROKEN_CODES, refusal_from, wait_in
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.uploads.multipart import Multipart

#: Pages that a look-up reads at most: with 100 rows each far more than any page may post in its window.
_PAGES_READ = 10
ROWS_PER_PAGE = 100


class Graph:
    """Calls to one host of the Graph API. Every method raises PlatformRefusal if Meta refuses; `create` and `finish`
    also raise OutcomeUnknown.
    """

    def __init__(self, base_url: str, settings: MetaSettings) -> None:
        self._base = f"{base_url.rstrip('/')}/{settings.graph_version}"
        self._secret = settings.app_secret.encode()
        self._http = HttpClient(settings)

    def read(self, account: Account, node: str, edge: str = "", **params: Any) -> Answer:
        """Sends a GET, which may be repeated."""
        return self._call("GET", account, node, edge, params=params)

    def served_version(self, account: Account) -> str | None:
        """Returns the version of the Graph API that answers a read of the account; None if Meta does not tell."""
        query = urlencode(self._signed(account, {"fields": "id"}))
        url = f"{self._base}/{quote(account.remote_account_id, safe='')}?{query}"
        response = self._http.send("GET", url, headers=bearer(account))
        _body(response, visible=False)
        return response.headers.get("facebook-api-version")

    def rows(
        self, account: Account, node: str, edge: str, *, until: float | None = None, **params: Any
    ) -> Iterator[Answer]:
        """Yields all rows of a list. Raises PlatformRefusal if the list is too long, or if reading goes on after
        `until`, a time by `time.monotonic`."""
        for _ in page_numbers(_PAGES_READ, until):
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
        """Sends a POST that may be repeated. `file` maps the name of a form field to a file."""
        return self._call("POST", account, node, edge, data=params, file=file)

    def stage(
        self, account: Account, node: str, edge: str, data: Answer, file: MediaSource | None = None
    ) -> str:
        """Sends a POST that creates something nobody sees, so it may be repeated. Returns the new object's id.
        `file` is sent as the form field `source`."""
        files = {"source": file} if file else None
        return required(self._call("POST", account, node, edge, data=data, file=files), "id")

    def create(
        self,
        account: Account,
        node: str,
        edge: str,
        data: Answer,
        file: MediaSource | None = None,
        fields: str | None = None,
    ) -> Answer:
        """Creates something visible with one POST, which is sent only once. Returns the answer, which has an `id`."""
        params, files = {"fields": fields} if fields else {}, {"source": file} if file else None
        answer = self._call("POST", account, node, edge, params=params, data=data, file=files, visible=True)
        required(answer, "id", visible=True)
        return answer

    def finish(self, account: Account, node: str, edge: str, **params: Any) -> None:
        """Sends the POST that publishes a prepared object, once. Raises OutcomeUnknown if no usable answer comes."""
        if self._call("POST", account, node, edge, data=params, visible=True).get("success") is not True:
            raise OutcomeUnknown("the platform does not say that it worked")

    def remove(self, account: Account, node: str) -> None:
        """Deletes something. May be repeated."""
        self._call("DELETE", account, node, "")

    def delete(self, account: Account, node: str) -> None:
        """Tries to delete an object that is not published yet, such as a photo. Ignores a refusal: nobody sees what
        stays.
        """
        with suppress(PlatformRefusal):
            self.remove(account, node)

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
        query = self._signed(account, _given(params or {}))
        if query:
            url = f"{url}?{urlencode(query)}"
        headers = bearer(account)
        body: bytes | Multipart | None = None
        if method == "POST":
            fields = _given(data or {})
            body = urlencode(fields).encode()
            for name, source in (file or {}).items():
                body = Multipart(fields, name, source)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return _body(self._http.send(method, url, headers=headers, body=body, visible=visible), visible)

    def _signed(self, account: Account, query: Answer) -> Answer:
        """Returns the query with the proof that the call comes from our app (`appsecret_proof`). Without the app's
        secret, returns the query as it is."""
        if not self._secret:
            return query
        proof = hmac.new(self._secret, account.access_token.encode(), hashlib.sha256)
        return query | {"appsecret_proof": proof.hexdigest()}


def _given(values: Answer) -> Answer:
    return {name: value for name, value in values.items() if value is not None}


def _body(response: Response, visible: bool) -> Answer:
    """Returns the body if the answer reports success; otherwise raises PlatformRefusal.

    `visible`: the call makes something visible on the platform. If such a call may have worked in spite of a bad
    answer, raises OutcomeUnknown instead.
    """
    body = response.body
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(body, dict) and error is None and response.is_good:
        return body
    if not isinstance(error, dict):
        raise unrecognised(response, visible, wait_in(response.headers))
    if visible and (response.status >= 500 or error.get("code") in BROKEN_CODES):
        raise OutcomeUnknown(f"HTTP {response.status}, code {error.get('code')}")
    refusal = refusal_from(error, response.headers)
    if response.status >= 500:
        # Errors of a broken platform are not reliable: no page is disconnected because of one.
        refusal.kind, refusal.wait_seconds = Refusal.TRANSIENT, wait_in(response.headers)
    raise refusal


def rows_of(answer: Answer) -> list[Answer]:
    """Returns the objects in the field `data` of an answer that lists objects."""
    return objects(answer.get("data"))


def next_cursor(answer: Answer) -> str | None:
    """Returns the cursor of the next page; None at the end. The address in `next` is not followed: it could name any
    host."""
    paging = answer.get("paging") or {}
    return str(paging["cursors"]["after"]) if paging.get("next") and "cursors" in paging else None


def is_within(row: Mapping[str, Any], time_field: str, start: datetime) -> bool:
    """Whether a row of the platform's list was made since `start`, or has no time."""
    made_at = iso_time(row.get(time_field))
    return made_at is None or made_at >= start
