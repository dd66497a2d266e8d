"""The service as a process, over a database, a broker and a bucket of its own."""

from collections.abc import Callable
from typing import Any

import pytest
import urllib3

from chassis.ids import new_id
from contracts import media as api
from contracts.caller import Caller

ACCOUNT = "usr_a"


class Storage:
    """The running service, and short ways to call it as the gateway does."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self.http = urllib3.PoolManager(retries=False)

    def caller(self, account_id: str = ACCOUNT, **fields: Any) -> Caller:
        fields = {"tier": "elite", "operation_id": new_id("op")} | fields
        return Caller(account_id=account_id, user_id=account_id, **fields)

    def begin(
        self, data: bytes, filename: str, mime_type: str, caller: Caller, **fields: Any
    ) -> api.UploadTicket:
        request = api.BeginUpload(filename=filename, mime_type=mime_type, size_bytes=len(data), **fields)
        ticket = self.service.begin_upload(caller, request)
        answer = self.http.request("PUT", ticket.url, body=data, headers=ticket.headers)
        assert answer.status == 200, answer.data
        return ticket

    def upload(
        self, data: bytes, filename: str, mime_type: str, caller: Caller | None = None, **fields: Any
    ) -> api.UploadedMedia:
        caller = caller or self.caller()
        ticket = self.begin(data, filename, mime_type, caller, **fields)
        request = api.CommitUpload(upload_id=ticket.upload_id, size_bytes=len(data))
        return self.service.commit_upload(caller, request, timeout_seconds=30.0)

    def fetch(self, media: api.Media, **headers: str) -> urllib3.BaseHTTPResponse:
        """As the gateway serves the public address."""
        key, filename = media.url.rsplit("/", 2)[1:]
        found = self.service.locate_file(self.caller(), api.LocateFile(key=key, filename=filename))
        return self.http.request("GET", found.source_url, headers=headers)


@pytest.fixture(scope="module")
def storage(shared_service: Callable[..., Any], shared_bucket: dict[str, str]) -> Storage:
    return Storage(shared_service("media", env=shared_bucket))
