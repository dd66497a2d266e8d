"""Calls the YouTube Data API, and concludes the outcome of a call from its answer or from a missing answer."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from publishing.platforms.base import Account, OutcomeUnknown
from publishing.platforms.http_client import (
    Answer,
    HttpClient,
    Response,
    bearer,
    objects,
    required,
    transient,
    unrecognised,
)
from publishing.platforms.lists import page_numbers
from publishing.platforms.pinning import is_pinned
from publishing.platforms.uploads.pieces import Piece
from publishing.platforms.youtube.errors import is_broken, refusal_from
from publishing.platforms.youtube.settings import YouTubeSettings

#: Pages that a look-up reads at most: far more than any channel may upload or answer in its window.
_PAGES_READ = 10
#: Statuses of an expired upload session (platforms.md 7).
LOST_SESSION = (404, 410)


class DataApi:
    """Calls to the YouTube Data API. Every method raises PlatformRefusal if YouTube refuses; `create` and `put` also
    raise OutcomeUnknown.
    """

    def __init__(self, settings: YouTubeSettings) -> None:
        self._settings = settings
        self._base = f"{settings.api_url.rstrip('/')}/youtube/v3"
        self._uploads = f"{settings.upload_url.rstrip('/')}/upload/youtube/v3/videos"
        self._http = HttpClient(settings)

    def read(self, account: Account, resource: str, **params: Any) -> Answer:
        """Sends a GET, which may be repeated."""
        response = self._http.send("GET", self._address(resource, params), headers=bearer(account))
        return body_of(response, visible=False)

    def rows(
        self, account: Account, resource: str, *, until: float | None = None, **params: Any
    ) -> Iterator[Answer]:
        """Yields all items of a list. Raises PlatformRefusal if the list is too long, or if reading goes on after
        `until`, a time by `time.monotonic`."""
        for _ in page_numbers(_PAGES_READ, until):
            answer = self.read(account, resource, **params)
            yield from items_of(answer)
            token = answer.get("nextPageToken")
            if not token:
                return
            params["pageToken"] = token

    def create(self, account: Account, resource: str, body: Answer, **params: Any) -> Answer:
        """Creates something visible with one POST, which is sent only once. Returns the answer, which has an `id`."""
        url, sent = self._address(resource, params), json.dumps(body).encode()
        response = self._http.send("POST", url, headers=_json_headers(account), body=sent, visible=True)
        answer = body_of(response, visible=True)
        required(answer, "id", visible=True)
        return answer

    def delete(self, account: Account, resource: str, **params: Any) -> None:
        """Deletes something. May be repeated: something that is already gone is no error."""
        response = self._http.send("DELETE", self._address(resource, params), headers=bearer(account))
        if response.status not in (204, 404):
            body_of(response, visible=False)

    def begin_upload(
        self, account: Account, video: Answer, size_bytes: int, content_type: str, *, notifies: bool = True
    ) -> str:
        """Begins an upload session and returns its address. Nothing is visible before the last byte is sent.

        `notifies`: whether YouTube tells the channel's subscribers about the video, as it does by default.
        """
        asked = {"uploadType": "resumable", "part": "snippet,status"}
        query = urlencode(asked if notifies else asked | {"notifySubscribers": "false"})
        headers = _json_headers(account) | {
            "X-Upload-Content-Type": content_type,
            "X-Upload-Content-Length": str(size_bytes),
        }
        url, sent = f"{self._uploads}?{query}", json.dumps(video).encode()
        response = self._http.send("POST", url, headers=headers, body=sent)
        if not response.is_good:
            body_of(response, visible=False)
        session = response.headers.get("Location", "")
        self._check_session(session)
        return session

    def put(
        self, account: Account, session: str, span: str, body: Piece | None = None, *, visible: bool = False
    ) -> Response:
        """Sends a piece of the file. Without a `body`, asks how many bytes YouTube has.

        `span`: the part of the header Content-Range after `bytes`. For an answer that the upload protocol does not
        define, raises the error that `body_of` raises.
        """
        self._check_session(session)
        headers = bearer(account) | {"Content-Range": f"bytes {span}"}
        sent = b"" if body is None else body
        response = self._http.send("PUT", session, headers=headers, body=sent, visible=visible)
        if not response.is_good and response.status not in (308, *LOST_SESSION):
            body_of(response, visible)
        return response

    def _check_session(self, session: str) -> None:
        if not is_pinned(session, self._settings.upload_url, self._settings.upload_hosts):
            raise transient("STRANGE_SESSION", "YouTube's upload session is on another host.")

    def _address(self, resource: str, params: Answer) -> str:
        given = {name: value for name, value in params.items() if value is not None}
        return f"{self._base}/{resource}?{urlencode(given)}"


def _json_headers(account: Account) -> dict[str, str]:
    return bearer(account) | {"Content-Type": "application/json; charset=UTF-8"}


def body_of(response: Response, visible: bool) -> Answer:
    """Returns the body if the answer reports success; otherwise raises PlatformRefusal.

    `visible`: the call makes something visible on the platform. If such a call may have worked in spite of a bad
    answer, raises OutcomeUnknown instead.
    """
    if response.is_good and isinstance(response.body, dict):
        return response.body
    refusal = refusal_from(response)
    if refusal is None:
        raise unrecognised(response, visible)
    if visible and is_broken(response):
        raise OutcomeUnknown(f"HTTP {response.status}, {refusal.code}")
    raise refusal


def items_of(answer: Answer) -> list[Answer]:
    """Returns the resources in the `items` of a list."""
    return objects(answer.get("items"))
