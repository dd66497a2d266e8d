"""The media service's surface: uploads, storage quota, attachments to posts, and where a file is fetched from.

Bytes never travel on the bus: a caller gets a presigned address of the object storage instead.
"""

from datetime import datetime
from typing import Annotated, Protocol

from msgspec import Meta

from contracts.caller import Caller
from contracts.publishing import Limit
from contracts.record import Nothing, Record
from contracts.senders import called_by

#: Spec "Upload rules": the only types taken, and the endings they may have.
MIME_TYPES: dict[str, tuple[str, ...]] = {
    "image/jpeg": (".jpg", ".jpeg"),
    "image/png": (".png",),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "video/mp4": (".mp4", ".m4v"),
    "video/quicktime": (".mov", ".qt"),
    "video/webm": (".webm",),
}

MediaIds = tuple[str, ...]


class Storage(Record):
    """What an account's media take of its tier's storage (spec: quota of Media)."""

    used_bytes: int
    limit_bytes: int
    remaining_bytes: int


class Media(Record):
    """An uploaded or generated file (spec "Media")."""

    media_id: str
    filename: str
    mime_type: str
    size_bytes: int
    #: photo or video
    type: str
    #: Public: whoever has it can fetch the file.
    url: str
    #: The first pending post it is attached to.
    scheduled_post_id: str | None
    created_at: datetime
    #: Pixels, as shown (after any rotation the file asks for); None where a video does not tell.
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


class UploadedMedia(Media, kw_only=True):
    """A new file, with what is left of the storage."""

    tier: str
    quota: Storage


class ListMedia(Record):
    limit: Limit = 50
    cursor: str | None = None


class MediaList(Record):
    media: tuple[Media, ...]
    tier: str
    quota: Storage
    next_cursor: str | None = None


class MediaId(Record):
    id: str


class MediaDeleted(Record):
    success: bool
    media_id: str


class StorageView(Record):
    quota: Storage
    #: Spec "Limits": max file size per upload.
    max_file_bytes: int


class BeginUpload(Record):
    """A file about to be streamed: its storage is reserved for the length of one request."""

    filename: str
    mime_type: str
    #: What the stream will hold; more than that is never stored.
    size_bytes: int
    #: Made by AI: removed when it is not attached to a post within 24 hours (spec "AI generation").
    generated: bool = False


class UploadTicket(Record):
    """Where to PUT the bytes, at once and with these headers: an address that only our own services reach."""

    upload_id: str
    url: str
    headers: dict[str, str]
    expires_at: datetime


class CommitUpload(Record):
    """The bytes are there: media looks at them and keeps the file, or removes it and refuses."""

    upload_id: str
    size_bytes: int


class UploadId(Record):
    upload_id: str


class BeginParts(Record):
    """A large file that its owner puts into storage himself, in parts."""

    filename: Annotated[str, Meta(min_length=1, max_length=255)]
    mime_type: str
    size_bytes: Annotated[int, Meta(ge=1)]


class Part(Record):
    number: int
    url: str


class UploadParts(Record):
    upload_id: str
    #: Every part has this size; the last may be smaller.
    part_size_bytes: int
    parts: tuple[Part, ...]
    expires_at: datetime


class PartTag(Record):
    """A part that was put, with the ETag the storage answered."""

    number: Annotated[int, Meta(ge=1)]
    etag: Annotated[str, Meta(min_length=1, max_length=200)]


class CompleteParts(Record):
    id: str
    parts: Annotated[tuple[PartTag, ...], Meta(min_length=1, max_length=1_000)]


class AttachMedia(Record):
    """A post is about to be stored with these files.

    The attachment is provisional until the event `post.media` confirms it: of a caller that dies between the two it
    shows for ten minutes, and keeps its files from removal for a day. The same call again changes nothing; other
    `media_ids` replace those of the post.
    """

    post_id: str
    media_ids: MediaIds
    #: The revision of the post (`post.media`) that will hold the files. An event about an earlier revision that arrives
    #: late leaves them attached. 0: a publishing service of the release before, which does not say; they stay as well.
    revision: int = 0


class AttachedMedia(Record):
    """In the order asked for."""

    media: tuple[Media, ...]


class DetachMedia(Record):
    """A post no longer needs its files: it was cancelled, or never stored. The same call again changes nothing."""

    post_id: str
    #: The newest revision of the post (`post.media`), 0 if it was never stored. Events about earlier revisions that
    #: arrive late are ignored, and files attached for a later revision stay attached.
    revision: int = 0


class GetFiles(Record):
    """The files of a post that is being sent."""

    media_ids: MediaIds
    #: Make photos JPEG where they are not (Instagram takes nothing else), once; the original stays.
    jpeg: bool = False


class MediaFile(Record):
    media_id: str
    #: photo or video
    type: str
    mime_type: str
    size_bytes: int
    #: Presigned, for our own services alone.
    source_url: str
    #: Public, for platforms that fetch by themselves.
    public_url: str
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None


class MediaFiles(Record):
    """In the order asked for."""

    files: tuple[MediaFile, ...]


class LocateFile(Record):
    """A public address, taken apart: /media/{key}/{filename}."""

    key: str
    filename: str


class LocatedFile(Record):
    """Where a public file lies; `source_url` is presigned for GET, Range included (some storages answer a range with
    200 and Content-Range). What HEAD wants to know is all here.
    """

    source_url: str
    mime_type: str
    size_bytes: int
    etag: str
    created_at: datetime


class SandboxReport(Record):
    """What confines the decoder of uploads on the machine that answers (`chassis.sandbox.confinement`)."""

    #: 0: no Landlock. From 4 on it refuses TCP too.
    landlock_abi: int
    seccomp: bool
    network_namespace: bool
    #: What a complete sandbox has and this one has not: "landlock", "seccomp".
    missing: tuple[str, ...]
    #: MEDIA_SANDBOX_REQUIRED: whether the service refuses to start while anything is missing.
    required: bool


@called_by(
    gateway=(
        "begin_upload",
        "commit_upload",
        "abort_upload",
        "begin_parts",
        "complete_parts",
        "list_media",
        "get_media",
        "delete_media",
        "get_storage",
        "locate_file",
    ),
    ctl=("get_sandbox",),
    publishing=("get_media", "attach_media", "detach_media", "get_files", "locate_file"),
    ai=(
        "begin_upload",
        "commit_upload",
        "abort_upload",
        "get_media",
        "delete_media",
        "get_storage",
        "get_files",
    ),
)
class MediaApi(Protocol):
    """RPC surface of the media service.

    From publishing alone: attach, detach, get_files; from the gateway: locate; from the operator: get_sandbox.
    """

    def begin_upload(self, caller: Caller, request: BeginUpload) -> UploadTicket: ...
    def commit_upload(self, caller: Caller, request: CommitUpload) -> UploadedMedia: ...
    def abort_upload(self, caller: Caller, request: UploadId) -> Nothing: ...
    def begin_parts(self, caller: Caller, request: BeginParts) -> UploadParts: ...
    def complete_parts(self, caller: Caller, request: CompleteParts) -> UploadedMedia: ...
    def list_media(self, caller: Caller, request: ListMedia) -> MediaList: ...
    def get_media(self, caller: Caller, request: MediaId) -> Media: ...
    def delete_media(self, caller: Caller, request: MediaId) -> MediaDeleted: ...
    def get_storage(self, caller: Caller, request: Nothing) -> StorageView: ...
    def attach_media(self, caller: Caller, request: AttachMedia) -> AttachedMedia: ...
    def detach_media(self, caller: Caller, request: DetachMedia) -> Nothing: ...
    def get_files(self, caller: Caller, request: GetFiles) -> MediaFiles: ...
    def locate_file(self, caller: Caller, request: LocateFile) -> LocatedFile: ...
    def get_sandbox(self, caller: Caller, request: Nothing) -> SandboxReport: ...
