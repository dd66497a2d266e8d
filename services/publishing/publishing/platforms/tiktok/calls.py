"""Calls TikTok's API, and concludes the outcome of a call from its answer or from a missing answer."""

import json

from publishing.platforms.base import Account, OutcomeUnknown
from publishing.platforms.http_client import Answer, HttpClient, Response, bearer, transient, unrecognised
from publishing.platforms.pinning import is_pinned
from publishing.platforms.tiktok.errors import error_in, is_broken, refusal_from
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.uploads.pieces import Piece


class PostingApi:
    """Calls to TikTok's Content Posting API and related ones. Every method raises PlatformRefusal if TikTok refuses."""

    def __init__(self, settings: TikTokSettings) -> None:
        self._settings = settings
        self._base = f"{settings.api_url.rstrip('/')}/v2"
        self._http = HttpClient(settings)

    def ask(
        self, account: Account, path: str, body: Answer | None = None, *, visible: bool = False
    ) -> Answer:
        """Sends a POST, or a GET if there is no body, and returns the answer's `data`.

        `visible`: the call may make a post public. Such a call raises OutcomeUnknown if no usable answer comes.
        """
        headers, method, sent = bearer(account), "GET", None
        if body is not None:
            headers["Content-Type"] = "application/json; charset=UTF-8"
            method, sent = "POST", json.dumps(body).encode()
        url = f"{self._base}/{path}"
        return data_of(self._http.send(method, url, headers=headers, body=sent, visible=visible), visible)

    def creator(self, account: Account) -> Answer:
        """Reads what the account may post now (`creator_info`). TikTok requires this before every post."""
        return self.ask(account, "post/publish/creator_info/query/", {})

    def status(self, account: Account, publish_id: str) -> Answer:
        """Reads the status of a post that TikTok is processing, or has processed."""
        return self.ask(account, "post/publish/status/fetch/", {"publish_id": publish_id})

    def put(self, upload_url: str, span: str, piece: Piece, *, completes: bool) -> Response:
        """Sends a chunk of a file to the upload address, which contains the token. The upload host answers with a
        status only.

        `span`: the part of the header Content-Range after `bytes`. `completes`: this is the last chunk, which makes the
        post.
        """
        if not is_pinned(upload_url, self._settings.api_url, self._settings.upload_hosts):
            raise transient("STRANGE_UPLOAD", "TikTok's upload address is on another host.")
        headers = {"Content-Range": f"bytes {span}"}
        return self._http.send("PUT", upload_url, headers=headers, body=piece, completes=completes)


def data_of(response: Response, visible: bool) -> Answer:
    """Returns the `data` of the answer if it reports success; otherwise raises PlatformRefusal.

    `visible`: the call makes something visible on the platform. If such a call may have worked in spite of a bad
    answer, raises OutcomeUnknown instead.
    """
    error = error_in(response)
    if error is None:
        raise unrecognised(response, visible)
    if error["code"] == "ok" and response.is_good:
        data = response.body.get("data")
        return data if isinstance(data, dict) else {}
    if visible and is_broken(response, error):
        raise OutcomeUnknown(f"HTTP {response.status}, {error['code']}")
    raise refusal_from(response, error)
