"""The contract of the media service: uploads, storage quota, files of posts, and addresses of files.

Bytes never travel on the bus: a caller gets a presigned URL of the object storage.
"""

from datetime import datetime
from typing import Annotated, Protocol

from msgspec import Meta

from contracts.caller import Caller
from contracts.publishing import Limit, MediaKind, Search
from contracts.record import Nothing, Record
from contracts.senders import called_by

#: Spec "Upload rules": the accepted types and their file extensions.
MIME_TYPES: dict[str, tuple[str, ...]] = {
    "image/jpeg": (".jpg", ".jpeg", ".jfif"),
    "image/png": (".png", ".apng"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "video/mp4": (".mp4", ".m4v"),
    "video/quicktime": (".mov", ".qt"),
    "video/webm": (".webm",),
}

#: Further types (an addition to the spec): stored and served as JPEG.
CONVERTED_TYPES: dict[str, tuple[str, ...]] = {
    "image/heic": (".heic", ".heif", ".hif"),
    "image/avif": (".avif",),
}

MediaIds = tuple[str, ...]

#: No id of an account begins so.
_COPIES = "copies:"


def owner_of_copies(account_id: str) -> str:
    """Returns the account that owns the copies of files at other servers which the posts of `account_id` name: they are
    in no list, and do not use storage quota (spec "media_urls").
    """
    return f"{_COPIES}{account_id}"


def owns_copies(account_id: str) -> bool:
    """Whether the account owns copies of files at other servers (`owner_of_copies`), and not files of a person."""
    return account_id.startswith(_COPIES)


def thumbnail_of(name: str) -> str:
    """Returns the name of a file's thumbnail if `name` is the file's name, and the thumbnail's public URL if `name` is
    the file's public URL.
    """
    return f"{name.rpartition('.')[0]}-thumbnail.jpg"


class Storage(Record):
    """How much of its tier's storage an account uses (spec.md, "Media", quota)."""

    used_bytes: int
    limit_bytes: int
    remaining_bytes: int


class Media(Record):
    """An uploaded or generated file (spec.md, "Media")."""

    media_id: str
    filename: str
    mime_type: str
    size_bytes: int
    #: `photo` or `video`
    type: MediaKind
    #: Public: anybody who has the URL can fetch the file.
    url: str
    #: The first pending post that the file is attached to.
    scheduled_post_id: str | None
    created_at: datetime
    #: In pixels, after any rotation that the file asks for; None for a video without this information.
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    #: Frames a second of an MP4 or QuickTime video; None if the file has no frame rate, or a variable one.
    frame_rate: float | None = None
    #: Codec of a video's pictures: h264, hevc, vp9 and so on. If most players and platforms refuse an H.264 video for
    #: its pixel format, the format follows: "h264 yuv422p10le". None for a photo, and for a video stored before 1.4.0.
    video_codec: str | None = None
    #: Codec of a video's sound: aac, opus, pcm_s16le and so on; "none" for a video without sound. If most platforms
    #: refuse its AAC, profile, sampling rate and channels follow: "aac (HE-AAC), 44100 Hz, 5.1". None for a photo, and
    #: for a video stored before 1.4.0.
    audio_codec: str | None = None
    #: A JPEG of at most 320 pixels on its longer side; of a video the first frame that is not black. None until it is
    #: made, a moment after the upload, and for files of which none can be made.
    thumbnail_url: str | None = None
    #: The pending posts that the file is attached to, the first ones, and at most 10.
    scheduled_post_ids: tuple[str, ...] = ()
    #: How many pending posts the file is attached to.
    scheduled_post_count: int = 0


class UploadedMedia(Media, kw_only=True):
    """A new file, and how much storage is left."""

    tier: str
    quota: Storage


class ListMedia(Record):
    #: Comma-separated ids of up to 100 files: only those that exist, in this order and without pages.
    media_ids: Annotated[str, Meta(max_length=3_200)] | None = None
    #: Only photos or only videos.
    type: MediaKind | None = None
    #: Only files that no pending and no published post has.
    unused: bool = False
    #: Only files whose name contains this text, however it is capitalized.
    search: Search | None = None
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
    """A request to begin the upload of a file, which the gateway or the AI service will send to the storage.

    Room for the file is reserved until the upload is committed, refused or aborted, for 15 minutes at most.
    """

    filename: str
    mime_type: str
    #: Size of the stream. Bytes beyond it are never stored.
    size_bytes: int
    #: Made by AI, or the copy of a file at another server (`owner_of_copies`): one file for each operation, deleted
    #: unless it is attached to a post within 24 hours (spec "AI generation").
    generated: bool = False


class UploadTicket(Record):
    """Where the gateway sends the bytes of an upload: PUT to `url`, with these headers.

    Only our own services can reach the URL.
    """

    upload_id: str
    url: str
    headers: dict[str, str]
    expires_at: datetime


class CommitUpload(Record):
    """A report that all bytes of an upload are in the storage.

    The media service then inspects the bytes. It keeps the file, or deletes and refuses it.
    """

    upload_id: str
    size_bytes: int


class UploadId(Record):
    upload_id: str


class MadeFile(Record):
    """The generated file of the caller's operation, if there is one."""

    media_id: str | None


class BeginParts(Record):
    """Announces a large file, which the client uploads to the storage in parts."""

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
    """An uploaded part, with the ETag from the storage's answer."""

    number: Annotated[int, Meta(ge=1)]
    etag: Annotated[str, Meta(min_length=1, max_length=200)]


class CompleteParts(Record):
    id: str
    parts: Annotated[tuple[PartTag, ...], Meta(min_length=1, max_length=1_000)]


class AttachMedia(Record):
    """A request to attach files to a post that is about to be stored or changed.

    The attachment is provisional until the event `post.media` confirms it. If that event never comes, lists show the
    files as used by the post for ten minutes, and the files cannot be deleted for a day. If the call is repeated, both
    times start again. A call with other `media_ids` replaces the provisionally attached files. Confirmed files stay
    attached until the next event.
    """

    post_id: str
    media_ids: MediaIds
    #: The revision of the post (`post.media`) that will hold the files. An event about an earlier revision that arrives
    #: late leaves them attached.
    revision: int
    #: Codes of the platforms that will get the files: the renditions that they need are begun.
    platforms: tuple[str, ...] = ()


class AttachedMedia(Record):
    """The attached files, in the order of the request."""

    media: tuple[Media, ...]


class DetachMedia(Record):
    """A request to detach the files of a post that was cancelled or never stored. Repeating it changes nothing."""

    post_id: str
    #: The newest revision of the post (`post.media`), 0 if it was never stored. Events about earlier revisions that
    #: arrive late are ignored, and files attached for a later revision stay attached.
    revision: int = 0


class GetFiles(Record):
    """A request for the files of a post that is being sent. If `platform` does not take a file, the answer has the
    file's rendition instead."""

    media_ids: MediaIds
    #: Code of the platform that gets the files: one that it does not take is replaced by its rendition. A picture's is
    #: made at once if it is missing. Raises MEDIA_PROCESSING for one that is not ready. The originals are kept.
    platform: str | None = None
    #: Without a platform: photos of other types as JPEG, for AI's references.
    jpeg: bool = False


class MediaFile(Record):
    media_id: str
    #: `photo` or `video`
    type: str
    mime_type: str
    size_bytes: int
    #: Presigned, only for our own services.
    source_url: str
    #: Public, for platforms that fetch the file themselves.
    public_url: str
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    frame_rate: float | None = None
    #: None for a rendition.
    video_codec: str | None = None
    audio_codec: str | None = None
    #: Created by AI (`BeginUpload.generated`).
    generated: bool = False


class MediaFiles(Record):
    """The requested files, in the order of the request."""

    files: tuple[MediaFile, ...]


class LocateFile(Record):
    """A request for the file at the public URL /media/{key}/{filename}."""

    key: str
    filename: str
    #: As in `GetFiles`.
    platform: str | None = None


class LocatedFile(Record):
    """Where a public file is stored, with everything that the answer to a HEAD request needs.

    `source_url` is presigned for GET, with or without the header Range. If a request has Range, some storages answer it
    with status 200 instead of 206, and with the header Content-Range.
    """

    source_url: str
    mime_type: str
    size_bytes: int
    etag: str
    created_at: datetime
    #: As in `MediaFile`; `public_url` of a rendition alone.
    generated: bool = False
    public_url: str | None = None
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    frame_rate: float | None = None


class SandboxReport(Record):
    """How the process that decodes uploads is confined on the machine of the replica that answers. The module
    `chassis.sandbox.confinement` describes the parts of the sandbox."""

    #: 0: no Landlock. Version 4 and later also refuse TCP.
    landlock_abi: int
    seccomp: bool
    network_namespace: bool
    #: Missing parts of a complete sandbox: "landlock", "seccomp".
    missing: tuple[str, ...]
    #: MEDIA_SANDBOX_REQUIRED: whether the service refuses to start while a part is missing.
    required: bool


@called_by(
    gateway=(
        "begin_upload commit_upload abort_upload begin_parts complete_parts list_media get_media"
        " delete_media get_storage locate_file"
    ),
    ctl="get_sandbox",
    publishing=(
        "begin_upload commit_upload abort_upload get_made get_media attach_media detach_media get_files locate_file"
    ),
    ai="begin_upload commit_upload abort_upload get_media delete_media get_storage get_files",
)
class MediaApi(Protocol):
    """The RPC methods of the media service."""

    def begin_upload(self, caller: Caller, request: BeginUpload) -> UploadTicket: ...
    def commit_upload(self, caller: Caller, request: CommitUpload) -> UploadedMedia: ...
    def abort_upload(self, caller: Caller, request: UploadId) -> Nothing: ...
    def get_made(self, caller: Caller, request: Nothing) -> MadeFile: ...
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
