"""A fake of the media service, in memory, which fulfils the service's contract."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from contracts import media as api
from contracts.caller import Caller
from contracts.errors import MEDIA_PROCESSING, NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.events import PostMedia
from contracts.record import Nothing
from contracts.renditions import Need, need_of
from publishing.records import Attached

OWNER = "usr_a"
STORAGE = "http://storage.invalid"
PUBLIC = "http://127.0.0.1:8080/media"


class Killed(BaseException):
    """Raised where the simulated process ends."""


@dataclass
class FakeMedia:
    """A media service in memory. `held` maps a post to its attached files, and each file to whether an event has
    confirmed the attachment.
    """

    files: dict[str, api.MediaFile] = field(default_factory=dict)
    held: dict[str, dict[str, bool]] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)
    #: Post → the revision for which files were last attached.
    attached_for: dict[str, int] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    is_away: bool = False
    #: Whether renditions are still being made.
    is_busy: bool = False
    #: Post → the platforms for which its files were last attached.
    platforms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Uploads that are not committed, by id.
    uploads: dict[str, api.BeginUpload] = field(default_factory=dict)
    #: Operation → the file that it made.
    made: dict[str | None, str] = field(default_factory=dict)
    #: The size of copies, in pixels.
    copy_size: tuple[int, int] | None = None
    #: Errors with which the next uploads are refused: before their bytes are sent, and after.
    begin_refusal: ApiError | None = None
    refusal: ApiError | None = None

    def add(self, mime_type: str = "image/jpeg", size_bytes: int = 1_000, **known: Any) -> str:
        """Adds a file and returns its id. `known` may hold width, height and duration_seconds."""
        media_id = f"med_{len(self.files) + 1}"
        kind = "video" if mime_type.startswith("video/") else "photo"
        ending = mime_type.split("/")[1]
        self.files[media_id] = api.MediaFile(
            media_id=media_id, type=kind, mime_type=mime_type, size_bytes=size_bytes, **known,
            source_url=f"{STORAGE}/{media_id}", public_url=f"{PUBLIC}/{media_id}/a.{ending}",
        )  # fmt: skip
        return media_id

    def in_use(self, media_id: str) -> bool:
        """Whether a post has the file, so that a DELETE of the file would be refused."""
        return any(media_id in ids for ids in self.held.values())

    def lapse(self) -> None:
        """Drops the attachments that no event has confirmed, as the media service does after some time."""
        for post_id, ids in self.held.items():
            self.held[post_id] = {media_id: True for media_id, confirmed in ids.items() if confirmed}

    def hear(self, word: PostMedia) -> None:
        """Delivers an event `post.media`. Ignores an event about an older revision."""
        if word.revision <= self.heard.get(word.post_id, 0):
            return
        self.heard[word.post_id] = word.revision
        self.held[word.post_id] = dict.fromkeys(word.media_ids, True) if word.state == "pending" else {}

    def hear_all(self, words: Iterable[PostMedia]) -> None:
        """Delivers all these events, and then drops the attachments that none of the events has confirmed."""
        for word in words:
            self.hear(word)
        self.lapse()

    def attach_media(
        self, caller: Caller, request: api.AttachMedia, *, timeout_seconds: float
    ) -> api.AttachedMedia:
        self._called("attach")
        found = tuple(self._media(caller, media_id) for media_id in request.media_ids)
        self.attached_for[request.post_id] = request.revision
        self.platforms[request.post_id] = request.platforms
        confirmed = {
            media_id: True for media_id, is_sure in self.held.get(request.post_id, {}).items() if is_sure
        }
        self.held[request.post_id] = dict.fromkeys(request.media_ids, False) | confirmed
        return api.AttachedMedia(media=found)

    def detach_media(self, caller: Caller, request: api.DetachMedia, *, timeout_seconds: float) -> Nothing:
        self._called("detach")
        if request.revision > 1:
            self.heard[request.post_id] = max(self.heard.get(request.post_id, 0), request.revision - 1)
        self.held.pop(request.post_id, None)
        return Nothing()

    def get_media(self, caller: Caller, request: api.MediaId, *, timeout_seconds: float) -> api.Media:
        self._called("get")
        return self._media(caller, request.id)

    def get_files(self, caller: Caller, request: api.GetFiles, *, timeout_seconds: float) -> api.MediaFiles:
        self._called("files")
        files = []
        for media_id in request.media_ids:
            facts = Attached.made_from(self._media(caller, media_id)).source.facts
            need = need_of(request.platform, facts) if request.platform else None
            if need is not None and self.is_busy:
                raise ApiError(MEDIA_PROCESSING, "40 % is done.", retry_after_seconds=5, media_id=media_id)
            file = self.files[media_id]
            files.append(file if need is None else _rendition(file, need))
        return api.MediaFiles(files=tuple(files))

    def get_made(self, caller: Caller, request: Nothing) -> api.MadeFile:
        self._called("made")
        return api.MadeFile(media_id=self.made.get(caller.operation_id))

    def begin_upload(self, caller: Caller, request: api.BeginUpload) -> api.UploadTicket:
        self._called("begin")
        if self.begin_refusal is not None:
            raise self.begin_refusal
        upload_id = f"upl_{len(self.calls)}"
        self.uploads[upload_id] = request
        return api.UploadTicket(
            upload_id=upload_id, url=f"{STORAGE}/{upload_id}", headers={}, expires_at=datetime(2026, 1, 1, tzinfo=UTC)
        )  # fmt: skip

    def commit_upload(
        self, caller: Caller, request: api.CommitUpload, *, timeout_seconds: float
    ) -> api.Media:
        self._called("commit")
        if self.refusal is not None:
            raise self.refusal
        begun = self.uploads.pop(request.upload_id)
        width, height = self.copy_size or (None, None)
        media_id = self.add(begun.mime_type, request.size_bytes, width=width, height=height, generated=True)
        source_url = f"{STORAGE}/{request.upload_id}"
        self.files[media_id] = structs.replace(self.files[media_id], source_url=source_url)
        self.made[caller.operation_id] = media_id
        return self._media(caller, media_id)

    def abort_upload(self, caller: Caller, request: api.UploadId) -> Nothing:
        self._called("abort")
        self.uploads.pop(request.upload_id, None)
        return Nothing()

    def locate_file(
        self, caller: Caller, request: api.LocateFile, *, timeout_seconds: float
    ) -> api.LocatedFile:
        self._called("locate")
        if request.key not in self.files:
            raise ApiError(NOT_FOUND)
        found = api.GetFiles(media_ids=(request.key,), platform=request.platform)
        [file] = self.get_files(caller, found, timeout_seconds=timeout_seconds).files
        self.calls.pop()
        return api.LocatedFile(
            public_url=file.public_url if "-made" in file.public_url else None, width=file.width, height=file.height,
            source_url=file.source_url, mime_type=file.mime_type, size_bytes=file.size_bytes, etag="e",
            created_at=datetime(2026, 1, 1, tzinfo=UTC), generated=file.generated,
        )  # fmt: skip

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.is_away:
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)

    def _media(self, caller: Caller, media_id: str) -> api.Media:
        owner = api.owner_of_copies(OWNER) if media_id in self.made.values() else OWNER
        if media_id not in self.files or caller.account_id != owner:
            raise ApiError(NOT_FOUND)
        file = self.files[media_id]
        return api.Media(
            media_id=media_id, filename="a", mime_type=file.mime_type, size_bytes=file.size_bytes, type=file.type,
            url=file.public_url, scheduled_post_id=None, created_at=datetime(2026, 1, 1, tzinfo=UTC),
            width=file.width, height=file.height, duration_seconds=file.duration_seconds,
        )  # fmt: skip


def _rendition(file: api.MediaFile, need: Need) -> api.MediaFile:
    url = file.public_url.rpartition(".")[0] + "-made.jpg"
    size_bytes = min(file.size_bytes, need.max_bytes)
    return structs.replace(
        file,
        mime_type=need.mime_type,
        public_url=url,
        size_bytes=size_bytes,
        width=need.width,
        height=need.height,
    )
