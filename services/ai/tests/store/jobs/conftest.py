"""A house over a real database; provider, media and storage do what the test says, and any step may be the last."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import text

from ai.config import Settings
from ai.context import AppContext
from ai.jobs import lost_jobs, video_steps
from ai.payments.manual import Manual
from ai.payments.stripe import StripeSettings
from ai.providers.base import CAPTIONS, IMAGES, VIDEOS, Clip, Picture, Provider
from ai.providers.gemini import GeminiSettings
from ai.providers.openai import OpenAiSettings
from ai.rules.prices import CreditSettings
from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from contracts import media as media_api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, QUOTA_EXCEEDED, ApiError

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
MP4 = b"\x00\x00\x00\x18ftypisom" + b"film" * 100


class Killed(BaseException):
    """The process is gone: nothing it had in mind happens any more."""


class Life:
    """Counts the steps of one process; the one numbered `last` is its last."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.last is not None and self.steps > self.last:
            raise Killed

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with a step before and one after it."""

        def stepping(*args: Any, **options: Any) -> Any:
            self.step()
            result = function(*args, **options)
            self.step()
            return result

        return stepping


@dataclass
class FakeProvider(Provider):
    """Makes what it is asked for; `script` holds what the next calls of a method do instead: raise or return it."""

    name: str = "fake"
    offers: frozenset[str] = frozenset({IMAGES, VIDEOS, CAPTIONS})
    made: list[tuple[str, str]] = field(default_factory=list)
    script: dict[str, list[Any]] = field(default_factory=dict)
    #: Called before every answer.
    before: Callable[[], None] = lambda: None
    clip_size_known: bool = True
    lock: Any = field(default_factory=threading.Lock)

    def _next(self, method: str, prompt: str, answer: Any) -> Any:
        self.before()
        with self.lock:
            self.made.append((method, prompt))
            planned = self.script.get(method) or []
            answer = planned.pop(0) if planned else answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    def image(self, prompt: str, **_: Any) -> Picture:
        return self._next("image", prompt, Picture(PNG, "image/png"))

    def edit(self, prompt: str, source: Picture, **_: Any) -> Picture:
        return self._next("edit", prompt, Picture(PNG, "image/png"))

    def start_video(self, prompt: str, **_: Any) -> str:
        return self._next("start_video", prompt, "operations/1")

    def poll_video(self, operation: str, **_: Any) -> str | None:
        return self._next("poll_video", operation, "http://provider/film")

    @contextmanager
    def fetch_video(self, address: str, **_: Any) -> Iterator[Clip]:
        body = self._next("fetch_video", address, MP4)
        yield Clip(len(body) if self.clip_size_known else None, iter([body[:5], body[5:]]))

    def caption(self, brief: str, turns: Any, **_: Any) -> str:
        return self._next("caption", f"{brief}\n{turns[-1]}", "A word. " * 30)

    def count(self, method: str) -> int:
        return sum(made == method for made, _ in self.made)


class FakeMedia:
    """The media service, as far as it is asked."""

    def __init__(self) -> None:
        self.room_bytes = 100 * 2**20
        self.uploads: dict[str, media_api.BeginUpload] = {}
        self.kept: dict[str, media_api.Media] = {}
        self.by_operation: dict[str | None, str] = {}
        self.by_upload: dict[str, str] = {}
        self.script: dict[str, list[Exception]] = {}
        self.aborted: list[str] = []

    def _plan(self, method: str) -> None:
        if planned := self.script.get(method):
            raise planned.pop(0)

    def get_storage(self, caller: Caller, request: Any) -> media_api.StorageView:
        quota = media_api.Storage(used_bytes=0, limit_bytes=self.room_bytes, remaining_bytes=self.room_bytes)
        return media_api.StorageView(quota=quota, max_file_bytes=10**9)

    def begin_upload(self, caller: Caller, request: media_api.BeginUpload) -> Any:
        self._plan("begin_upload")
        assert request.generated
        if request.size_bytes > self.room_bytes:
            raise ApiError(QUOTA_EXCEEDED)
        upload_id = new_id("upl")
        self.uploads[upload_id] = request
        return SimpleNamespace(upload_id=upload_id, url=f"http://storage/{upload_id}", headers={})

    def commit_upload(self, caller: Caller, request: Any, **_: Any) -> media_api.Media:
        self._plan("commit_upload")
        if request.upload_id in self.by_upload:
            return self.kept[self.by_upload[request.upload_id]]
        if request.upload_id not in self.uploads:
            raise ApiError(NOT_FOUND)
        upload = self.uploads.pop(request.upload_id)
        media_id = self.by_operation.setdefault(caller.operation_id, new_id("med"))
        self.by_upload[request.upload_id] = media_id
        return self.kept.setdefault(
            media_id,
            media_api.Media(
                media_id=media_id,
                filename=upload.filename,
                mime_type=upload.mime_type,
                size_bytes=upload.size_bytes,
                type="video" if upload.mime_type.startswith("video") else "photo",
                url=f"http://public/{media_id}",
                scheduled_post_id=None,
                created_at=datetime(2026, 11, 1, tzinfo=UTC),
            ),
        )

    def abort_upload(self, caller: Caller, request: Any) -> None:
        self.aborted.append(request.upload_id)
        self.uploads.pop(request.upload_id, None)

    def get_media(self, caller: Caller, request: Any) -> media_api.Media:
        if request.id not in self.kept:
            raise ApiError(NOT_FOUND)
        return self.kept[request.id]

    def delete_media(self, caller: Caller, request: Any) -> None:
        del self.kept[request.id]

    def get_files(self, caller: Caller, request: media_api.GetFiles, **_: Any) -> media_api.MediaFiles:
        self._plan("get_files")
        if any(media_id not in self.kept for media_id in request.media_ids):
            raise ApiError(NOT_FOUND, field="media_ids")
        found = [self.kept[media_id] for media_id in request.media_ids]
        return media_api.MediaFiles(
            files=tuple(
                media_api.MediaFile(
                    media_id=row.media_id,
                    type=row.type,
                    mime_type="image/jpeg" if request.jpeg else row.mime_type,
                    size_bytes=row.size_bytes,
                    source_url=f"http://storage/{row.media_id}",
                    public_url=row.url,
                )
                for row in found
            )
        )


class FakeStorage:
    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.script: list[Exception] = []
        self.file = PNG

    def put(self, url: str, headers: Any, size_bytes: int, chunks: Iterable[bytes], **_: Any) -> None:
        body = b"".join(chunks)
        assert len(body) == size_bytes
        if self.script:
            raise self.script.pop(0)
        self.stored[url] = body

    def get(self, url: str, **_: Any) -> bytes:
        return self.file


class MortalDatabase:
    """The database as a process that may die sees it: before a transaction, before its commit, after it."""

    def __init__(self, database: Database, life: Life) -> None:
        self._database, self._life = database, life

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        self._life.step()
        with self._database.transaction() as connection:
            yield connection
            self._life.step()
        self._life.step()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        self._life.step()
        with self._database.reading() as connection:
            yield connection


class Inline:
    """A pool whose tasks are done when they have been started."""

    free = 16

    def start(self, task: Callable[[], None]) -> None:
        task()


SETTINGS = Settings(
    credits=CreditSettings(),
    stripe=StripeSettings(),
    gemini=GeminiSettings(),
    openai=OpenAiSettings(),
    providers={},
    upgrade_url="https://posthaste.example/pricing",
    outbound_host_map={},
    poll_seconds=0,
    lease_seconds=20,
)


@dataclass
class World:
    """What outlives any process, and short ways to what tests do again and again."""

    database: Database
    provider: FakeProvider = field(default_factory=FakeProvider)
    media: FakeMedia = field(default_factory=FakeMedia)
    storage: FakeStorage = field(default_factory=FakeStorage)
    account: str = field(default_factory=lambda: new_id("usr"))

    def context(self, life: Life | None = None, *, configured: bool = True, **changed: Any) -> AppContext:
        """A process; with a life it dies where that ends."""
        life = life or Life()
        values = {name: getattr(SETTINGS, name) for name in SETTINGS.__struct_fields__} | changed
        provider = self.provider if configured else None
        context = AppContext(
            MortalDatabase(self.database, life),  # type: ignore[arg-type]
            Settings(**values),
            _Stepping(self.media, life),
            SimpleNamespace(find=lambda _: provider and _Stepping(provider, life)),  # type: ignore[arg-type]
            Manual(),
        )
        context.storage = _Stepping(self.storage, life)  # type: ignore[assignment]
        context.steps = Inline()  # type: ignore[misc, assignment]
        return context

    def caller(self, operation_id: str | None = None, **fields: Any) -> Caller:
        given = {"tier": "elite", "user_id": self.account} | fields
        return Caller(account_id=self.account, operation_id=operation_id or new_id("op"), **given)

    def lapse(self) -> None:
        """Every claim has lapsed, and every next step is due."""
        self.run("UPDATE jobs SET wake_at = clock_timestamp() WHERE state = 'processing'")

    def work(self, context: AppContext | None = None) -> None:
        """Every worker runs until there is nothing to do."""
        context = context or self.context()
        for _ in range(50):
            self.lapse()
            if not video_steps.make_videos(context) + lost_jobs.fail_lost(context):
                return
        pytest.fail("the work does not end")

    def job(self, operation_id: str) -> Any:
        rows = self.ask("SELECT * FROM jobs WHERE operation_id = :id", id=operation_id)
        return rows[0] if rows else None

    def events(self) -> list[str]:
        return [row.event for row in self.ask("SELECT event FROM outbox ORDER BY position")]

    def spent(self) -> int:
        """Credits that are gone from the account by charges, refunds taken off."""
        found = self.ask(
            "SELECT coalesce(sum(spent), 0) AS spent FROM entries WHERE account_id = :a", a=self.account
        )
        return int(found[0].spent)

    def entries(self, kind: str) -> int:
        asked = "SELECT count(*) AS n FROM entries WHERE account_id = :a AND kind = :k"
        return int(self.ask(asked, a=self.account, k=kind)[0].n)

    def shift(self, seconds: float) -> None:
        with self.database.transaction() as connection:
            clock.set_shift(connection, clock.shift_seconds(connection) + seconds)

    def run(self, statement: str, **values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(text(statement), values)

    def ask(self, statement: str, **values: Any) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(text(statement), values).all())


class _Stepping:
    """Another party, with a step of ours before and after each call."""

    def __init__(self, party: Any, life: Life) -> None:
        self._party, self._life = party, life

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._party, name)
        return self._life.around(value) if callable(value) else value


@pytest.fixture
def world(database: Database) -> World:
    return World(database)
