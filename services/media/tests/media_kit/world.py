"""The use cases of the media service over a real database and a real bucket, and a function that calls from several
threads.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import urllib3
from sqlalchemy import text

from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.events import PostMedia
from media import cleanup
from media.context import AppContext
from media.files import attachments, uploads
from media_kit import samples

ACCOUNT = "usr_a"


@dataclass
class World:
    context: AppContext
    database: Database

    def caller(self, account_id: str = ACCOUNT, **fields: Any) -> Caller:
        fields = {"tier": "elite", "operation_id": new_id("op")} | fields
        return Caller(account_id=account_id, user_id=account_id, **fields)

    def begin(self, size_bytes: int, caller: Caller | None = None, **fields: Any) -> api.UploadTicket:
        fields = {"filename": "a.png", "mime_type": "image/png"} | fields
        request = api.BeginUpload(size_bytes=size_bytes, **fields)
        return uploads.begin(self.context, caller or self.caller(), request)

    def put(self, data: bytes, caller: Caller | None = None, **fields: Any) -> api.UploadTicket:
        ticket = self.begin(len(data), caller, **fields)
        answer = urllib3.request("PUT", ticket.url, body=data, headers=ticket.headers)
        assert answer.status == 200
        return ticket

    def commit(
        self, ticket: api.UploadTicket, size_bytes: int, caller: Caller | None = None
    ) -> api.UploadedMedia:
        request = api.CommitUpload(upload_id=ticket.upload_id, size_bytes=size_bytes)
        return uploads.commit(self.context, caller or self.caller(), request)

    def media(self, caller: Caller | None = None, **fields: Any) -> api.UploadedMedia:
        """Stores an image of a few hundred bytes and returns its record."""
        caller, data = caller or self.caller(), samples.picture("image/png")
        return self.commit(self.put(data, caller, **fields), len(data), caller)

    def attach(
        self, post_id: str, *media: api.Media, caller: Caller | None = None, revision: int = 1
    ) -> api.AttachedMedia:
        media_ids = tuple(it.media_id for it in media)
        request = api.AttachMedia(post_id=post_id, media_ids=media_ids, revision=revision)
        return attachments.attach(self.context, caller or self.caller(), request)

    def tell(self, post_id: str, state: str, revision: int, *media: api.Media) -> None:
        """Delivers the event `post.media`."""
        word = PostMedia(
            post_id=post_id, media_ids=tuple(it.media_id for it in media), state=state, revision=revision
        )
        with self.database.transaction() as connection:
            attachments.on_post_media(connection, ACCOUNT, word)

    def used(self, account_id: str = ACCOUNT) -> int:
        with self.database.reading() as connection:
            return self.context.storage(connection, self.caller(account_id)).used_bytes

    @contextmanager
    def unanswered(self) -> Iterator[None]:
        """Makes the storage store each object that the service puts during the block, but lose its answer."""
        put = self.context.bucket.put

        def lost(*arguments: Any) -> None:
            put(*arguments)
            raise ApiError(SERVICE_UNAVAILABLE)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.context.bucket, "put", lost)
            yield

    def shift(self, **amount: float) -> None:
        seconds = timedelta(**amount).total_seconds()
        with self.database.transaction() as connection:
            clock.set_shift(connection, clock.shift_seconds(connection) + seconds)

    def sweep(self) -> None:
        """Runs all loops until they have nothing to do."""
        for loop in (
            cleanup.end_expired_uploads,
            cleanup.drop_unconfirmed,
            cleanup.remove_unused,
            cleanup.remove_orphans,
            cleanup.remove_due,
        ):
            while loop(self.context):
                """Once more."""

    def object_names(self) -> set[str]:
        return {name for name, _ in self.context.bucket.names()}

    def ask(self, statement: str, **values: Any) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(text(statement), values).all())

    def run(self, statement: str, **values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(text(statement), values)


def at_once(count: int, function: Callable[[int], Any]) -> list[Any]:
    """Calls the function in `count` threads that start together, each with its number. Returns their results or
    exceptions.
    """
    results: list[Any] = [None] * count
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = function(number)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
