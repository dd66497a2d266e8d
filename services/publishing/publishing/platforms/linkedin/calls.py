"""Calls LinkedIn's REST API, and concludes the outcome of a call from its answer or from a missing answer."""

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote, urlencode

from publishing.platforms.base import Account, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.http_client import (
    Answer,
    HttpClient,
    Response,
    SizedBody,
    bearer,
    objects,
    transient,
    unrecognised,
)
from publishing.platforms.linkedin.errors import REVOKED, codes_of, is_error, refusal_from
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.lists import page_numbers
from publishing.platforms.pinning import is_pinned

#: Pages of 100 rows that a look-up reads at most: LinkedIn takes about 100 posts a day.
_PAGES_READ = 5
_ROWS_PER_PAGE = 100
_GONE = ("404", "NOT_FOUND", "RESOURCE_NOT_FOUND")


class Calls:
    """Calls to LinkedIn's REST API. Every method raises PlatformRefusal if LinkedIn refuses; `create` also raises
    OutcomeUnknown.
    """

    def __init__(self, settings: LinkedInSettings) -> None:
        self._settings = settings
        self._url = settings.api_url.rstrip("/")
        self._http = HttpClient(settings)

    def read(self, account: Account, path: str, *, method: str = "GET", **params: Any) -> Answer:
        """Sends a GET, which may be repeated. `path`: relative to /rest, or beginning with `v2/`. `method`: Rest.li's
        name for the kind of call."""
        query = {name: value for name, value in params.items() if value is not None}
        more = {} if method == "GET" else {"X-RestLi-Method": method}
        body = self._call("GET", account, path, query, headers=more).body
        if not isinstance(body, dict):
            raise transient("NO_BODY", "The platform's answer is empty.")
        return body

    def rows(
        self, account: Account, path: str, *, until: float | None = None, **params: Any
    ) -> Iterator[Answer]:
        """Yields all rows of a list. Raises PlatformRefusal if the list is too long, or if reading goes on after
        `until`, a time by `time.monotonic`."""
        for page in page_numbers(_PAGES_READ, until):
            answer = self.read(account, path, start=page * _ROWS_PER_PAGE, count=_ROWS_PER_PAGE, **params)
            rows = objects(answer.get("elements"))
            yield from rows
            if len(rows) < _ROWS_PER_PAGE:
                return

    def act(self, account: Account, path: str, action: str, **request: Any) -> Answer:
        """Calls an action on something that nobody sees, so the call may be repeated. Returns the `value` of the
        answer."""
        response = self._call("POST", account, path, {"action": action}, {f"{action}Request": request})
        value = response.body.get("value") if isinstance(response.body, dict) else None
        return value if isinstance(value, dict) else {}

    def create(self, account: Account, path: str, data: Answer) -> tuple[str, Answer]:
        """Creates something visible with one POST. Repeats the POST only if LinkedIn answers that the token is revoked,
        as it does with a new token for some seconds.

        Returns the new id (header `x-restli-id`) and the body, which is empty for a post.
        """
        response = self._call("POST", account, path, {}, data, visible=True)
        made_id = response.headers.get("x-restli-id") or response.headers.get("x-linkedin-id")
        if not made_id:
            raise OutcomeUnknown("The platform's answer names no id.")
        return unquote(made_id), response.body if isinstance(response.body, dict) else {}

    def delete(self, account: Account, path: str) -> None:
        """Deletes something. May be repeated: something that is already gone counts as deleted."""
        try:
            self._call("DELETE", account, path, {}, headers={"X-RestLi-Method": "DELETE"})
        except PlatformRefusal as refusal:
            if refusal.code not in _GONE:
                raise

    def put(self, account: Account, url: str, body: SizedBody, *, with_token: bool) -> str:
        """Sends a file or a part of one to the upload address that LinkedIn gave. Returns the ETag without quotes.

        `with_token`: sends the account's token too.
        """
        if not is_pinned(url, self._url, self._settings.upload_hosts):
            raise PlatformRefusal(
                Refusal.REJECTED, "STRANGE_HOST", "LinkedIn names an upload host that is not its own."
            )
        headers = bearer(account) if with_token else {}
        response = self._http.send("PUT", url, headers=headers, body=body)
        if not response.is_good:
            raise self._refused(response) if is_error(response.body) else _refused_part(response)
        return str(response.headers.get("ETag") or "").strip('"')

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
    ) -> Response:
        url = f"{self._url}/{path if path.startswith('v2/') else f'rest/{path}'}"
        sent = {
            **bearer(account),
            "LinkedIn-Version": self._settings.version,
            "X-Restli-Protocol-Version": "2.0.0",
            "Content-Type": "application/json",
        } | (headers or {})
        body = None if data is None else json.dumps(data).encode()
        url = f"{url}?{urlencode(query)}" if query else url
        response = self._http.send(method, url, headers=sent, body=body, visible=visible)
        if response.status == 401 and str(REVOKED) in codes_of(response.body):
            # Also sent for a token that is too new; the call was not executed.
            time.sleep(self._settings.revoked_wait_seconds)
            response = self._http.send(method, url, headers=sent, body=body, visible=visible)
        if response.is_good:
            return response
        if not is_error(response.body):
            raise unrecognised(response, visible)
        if visible and response.status >= 500:
            raise OutcomeUnknown(f"HTTP {response.status}: {response.body.get('message')}")
        raise self._refused(response)

    def _refused(self, response: Response) -> PlatformRefusal:
        return refusal_from(response.body, response.status, response.headers, self._settings.version)


def _refused_part(response: Response) -> PlatformRefusal:
    """Builds the refusal of a part of a file from the HTTP status alone: 5xx, 408 and 429 are temporary."""
    kind = Refusal.TRANSIENT if response.status >= 500 or response.status in (408, 429) else Refusal.REJECTED
    return PlatformRefusal(kind, f"HTTP_{response.status}", "LinkedIn did not take the file.")


def in_path(urn: str) -> str:
    """Returns a URN encoded for use in the path of an address."""
    return quote(urn, safe="")
