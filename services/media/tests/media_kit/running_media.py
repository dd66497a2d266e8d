"""A client of the media service, which runs in a real process. It calls the service as the gateway does."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pika
import urllib3
from minio import Minio
from sqlalchemy import text

from chassis.bus import topology
from chassis.db.database import Database
from chassis.ids import new_id
from contracts import media as api
from contracts.caller import Caller
from contracts.events import Event, PostMedia
from testkit.fixtures import signed_event

ACCOUNT = "usr_a"


class RunningMedia:
    """Calls the running media service and its storage."""

    def __init__(self, service: Any) -> None:
        self.service = service
        self.http = urllib3.PoolManager(retries=False)
        self.database = Database(service.env["DATABASE_URL"], pool_size=1)

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
        """Fetches a file from the storage, given its record with a public URL, as the gateway does."""
        key, filename = media.url.rsplit("/", 2)[1:]
        found = self.service.locate_file(self.caller(), api.LocateFile(key=key, filename=filename))
        return self.http.request("GET", found.source_url, headers=headers)

    def object_address(self, ticket: api.UploadTicket) -> str:
        """Returns the URL from which the object that was uploaded with this ticket can be read."""
        env = self.service.env
        name = "/".join(urlsplit(ticket.url).path.split("/")[-2:])
        address = urlsplit(env["S3_URL"]).netloc
        client = Minio(
            address,
            env["S3_ACCESS_KEY"],
            env["S3_SECRET_KEY"],
            secure=False,
            region=env["S3_REGION"],
        )
        return client.presigned_get_object(env["S3_BUCKET"], name)

    def tell(self, word: PostMedia) -> None:
        """Sends the event `post.media`, as the publishing service does."""
        event = Event(
            id=new_id("evt"),
            event="post.media",
            created_at=datetime.now(UTC),
            account_id=ACCOUNT,
            data=msgspec.to_builtins(word),
        )
        body, headers = signed_event(event)
        with pika.BlockingConnection(pika.URLParameters(self.service.env["AMQP_URL"])) as connection:
            properties = pika.BasicProperties(headers=headers)
            connection.channel().basic_publish(topology.EVENT_EXCHANGE, event.event, body, properties)

    def run(self, statement: str) -> None:
        with self.database.transaction() as connection:
            connection.execute(text(statement))

    def ask(self, statement: str) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(text(statement)).all())

    def until(self, happened: Callable[[], Any], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < end
            time.sleep(0.02)
