"""Fakes of an AI provider, the media service and the object storage. They behave as the test says."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from ai.providers.base import CAPTIONS, IMAGES, VIDEOS, Clip, Picture, Provider
from chassis.ids import new_id
from contracts import media as media_api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, QUOTA_EXCEEDED, ApiError

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
MP4 = b"\x00\x00\x00\x18ftypisom" + b"film" * 100


@dataclass
class FakeProvider(Provider):
    """An AI provider that returns fixed files and texts. `script` maps a method to the values that its next calls
    return, or to the exceptions that they raise.
    """

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
    """A fake of the media service, with the methods that the AI service calls."""

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
