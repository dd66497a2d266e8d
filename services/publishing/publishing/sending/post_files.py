"""A post's files at the moment of publishing: their current types and sizes, and where their bytes come from.

An upload is looked up in the media service and read from storage. A file at another URL is fetched by the guarded
client, and its type is detected from its first bytes.

Some platforms take bytes: they get a fetched file through the guarded client again, if its URL still leads to the same
file. Other platforms fetch files themselves: they get the public URL of an upload, or the URL that was checked.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain

from chassis.bus.clients import remote
from chassis.http.addresses import UnsafeAddress
from chassis.http.guarded_client import FetchFailed, Stream, stream
from contracts.caller import Caller
from contracts.errors import MEDIA_PROCESSING, NOT_FOUND, ApiError
from contracts.media import GetFiles, LocatedFile, LocateFile, MediaFile
from contracts.renditions import FileFacts, need_of
from publishing.config import Settings
from publishing.context import AppContext
from publishing.platforms.base import MediaSource, PlatformRefusal, Refusal
from publishing.platforms.uploads.sources import exactly, stored
from publishing.records import Attached, Post
from publishing.rules.content import own_file

#: Deadline of the call to the media service, which waits 20 s for renditions and then says that they are not ready.
_FILES_SECONDS = 30.0
#: Seconds until a file is asked for again: if the media service names no time, and while a client waits. A picture
#: takes about a second.
_NOT_READY_SECONDS, _LOOK_SECONDS = 5.0, 0.5

#: The accepted types by their first bytes (spec "Upload rules"); MP4 and QuickTime differ in the brand.
_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
#: Content types of servers that do not know the type.
_VAGUE = ("", "application/octet-stream", "binary/octet-stream")


class FilesNotReady(Exception):
    """Raised while the media service is still converting a file for the platform. Nothing was sent."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.wait_seconds = float(error.extras.get("retry_after_seconds", _NOT_READY_SECONDS))


def held(app: AppContext, post: Post) -> tuple[MediaSource, ...]:
    """Returns the files behind the post's media_ids, converted where the platform needs it. Raises PlatformRefusal if a
    file is gone or cannot be used, and FilesNotReady while a file is being converted."""
    if not post.media_ids:
        return ()
    with _refusals():
        found = _get(app, post.owner, post.platform, post.files)
    return tuple(_source(found[media_id]) for media_id in post.media_ids)


def await_ready(
    app: AppContext,
    caller: Caller,
    platform: str,
    files: Sequence[Attached],
    urls: Sequence[str],
    seconds: float,
) -> None:
    """Waits until the media service has converted the files, and the uploads among `urls`, for the platform. Raises
    MEDIA_PROCESSING after `seconds`.

    Ignores other errors, because `held` and `by_url` raise them again.
    """
    files = [file for file in files if need_of(platform, file.source.facts) is not None]
    uploads = [found for url in urls if (found := own_file(url, app.settings.own_media)) is not None]
    give_up_at = time.monotonic() + seconds
    while files or uploads:
        try:
            if files:
                _get(app, caller, platform, files)
            for found in uploads:
                _locate(app, caller, platform, found)
        except ApiError as error:
            if error.row is not MEDIA_PROCESSING:
                return
            if time.monotonic() > give_up_at:
                raise
            time.sleep(_LOOK_SECONDS)
        else:
            return


def _get(app: AppContext, caller: Caller, platform: str, files: Sequence[Attached]) -> dict[str, MediaFile]:
    """Returns the files, converted where the platform needs it, by media id. Raises the errors of the media service."""
    request = GetFiles(media_ids=tuple(dict.fromkeys(file.media_id for file in files)), platform=platform)
    answer = remote(app.media.get_files)(caller, request, timeout_seconds=_FILES_SECONDS)
    return {file.media_id: file for file in answer.files}


def by_url(app: AppContext, post: Post) -> tuple[MediaSource, ...]:
    """Returns the files behind the post's media_urls. Raises PlatformRefusal (retryable if the file's server may
    recover), and FilesNotReady while an upload is being converted.
    """
    return tuple(_own(app, post, url) or _fetched(app.settings, url) for url in post.media_urls)


def files_of(app: AppContext, post: Post) -> list[tuple[str, MediaSource]]:
    """Returns all files of the post, each with its name in error messages: those of `held`, then those of `by_url`."""
    return [
        *((f"media_ids[{number}]", source) for number, source in enumerate(held(app, post))),
        *((f"media_urls[{number}]", source) for number, source in enumerate(by_url(app, post))),
    ]


def content_type_of(head: bytes) -> str | None:
    """Returns the content type of a file by its first bytes; None if files of its type cannot be posted."""
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def _source(file: MediaFile) -> MediaSource:
    opener = stored(file.source_url, file.size_bytes)
    return MediaSource.of(
        FileFacts.made_from(file), url=file.public_url, is_ai_made=file.generated, opener=opener
    )


def _own(app: AppContext, post: Post, url: str) -> MediaSource | None:
    """Returns the upload that has this public URL, as the media service describes it; None for a URL that is not
    ours."""
    found = own_file(url, app.settings.own_media)
    if found is None:
        return None
    with _refusals():
        file = _locate(app, post.owner, post.platform, found)
    facts = FileFacts.made_from(file, type=_kind_of(file.mime_type))
    opener = stored(file.source_url, file.size_bytes)
    return MediaSource.of(facts, url=file.public_url or url, is_ai_made=file.generated, opener=opener)


def _locate(app: AppContext, caller: Caller, platform: str, found: tuple[str, str]) -> LocatedFile:
    """Returns the upload with this key and filename, converted where the platform needs it. Raises the errors of the
    media service.
    """
    request = LocateFile(key=found[0], filename=found[1], platform=platform)
    return remote(app.media.locate_file)(caller, request, timeout_seconds=_FILES_SECONDS)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turns errors of the media service, raised in the block, into refusals: permanent if the file is gone or bad,
    temporary if the service is unavailable. MEDIA_PROCESSING becomes FilesNotReady."""
    try:
        yield
    except ApiError as error:
        if error.row is MEDIA_PROCESSING:
            raise FilesNotReady(error) from error
        if error.row is NOT_FOUND:
            message = "A file of this post is no longer there."
            raise PlatformRefusal(Refusal.REJECTED, "MEDIA_GONE", message) from error
        if error.row.http_status < 500:
            raise PlatformRefusal(Refusal.REJECTED, error.code, error.message) from error
        message = "The post's files cannot be had just now."
        raise PlatformRefusal(Refusal.TRANSIENT, "MEDIA_UNAVAILABLE", message) from error


def _fetched(settings: Settings, url: str) -> MediaSource:
    """Reads the beginning of a file at another server and returns what kind of file it is."""
    with _stream(settings, url, settings.media_timeout_seconds) as answer:
        source = _judged(url, next(answer.chunks, b""), answer)
    return replace(source, opener=partial(_open, settings, source)) if source.size_bytes else source


@contextmanager
def _open(settings: Settings, source: MediaSource) -> Iterator[Iterator[bytes]]:
    """Opens a file at another server once more, to send it to a platform. Raises PlatformRefusal if its URL leads to
    another file by now.
    """
    assert source.url is not None
    assert source.size_bytes is not None
    seconds = settings.media_transfer_seconds
    with _stream(settings, source.url, seconds, counts_our_time=False) as answer:
        head = next(answer.chunks, b"")
        if _judged(source.url, head, answer).content_type != source.content_type:
            raise PlatformRefusal(
                Refusal.REJECTED, "MEDIA_CHANGED", f"{source.url}: now leads to another file."
            )
        yield exactly(chain((head,), answer.chunks), source.size_bytes)


@contextmanager
def _stream(
    settings: Settings, url: str, timeout_seconds: float, *, counts_our_time: bool = True
) -> Iterator[Stream]:
    with (
        _fetch_refusals(url),
        stream(
            url,
            max_bytes=settings.max_media_bytes,
            timeout_seconds=timeout_seconds,
            host_map=settings.outbound_host_map,
            counts_our_time=counts_our_time,
        ) as answer,
    ):
        if answer.status != 200:
            kind = Refusal.TRANSIENT if answer.status >= 500 or answer.status == 429 else Refusal.REJECTED
            raise PlatformRefusal(kind, "MEDIA_UNREACHABLE", f"{url}: its server answers {answer.status}.")
        yield answer


@contextmanager
def _fetch_refusals(url: str) -> Iterator[None]:
    try:
        yield
    except UnsafeAddress as error:
        raise PlatformRefusal(Refusal.REJECTED, "INVALID_MEDIA_URL", f"{url}: {error.reason}") from error
    except FetchFailed as error:
        kind = Refusal.TRANSIENT if error.retryable else Refusal.REJECTED
        raise PlatformRefusal(kind, "MEDIA_UNREACHABLE", f"{url}: {error.message}") from error


def _judged(url: str, head: bytes, answer: Stream) -> MediaSource:
    content_type, declared = content_type_of(head), answer.content_type
    if content_type is None or (declared not in _VAGUE and not _same_kind(declared, content_type)):
        what = content_type or "no photo or video that can be posted"
        message = f"{url}: declared as {declared or 'nothing'}, but it is {what}."
        raise PlatformRefusal(Refusal.REJECTED, "INVALID_FILE_CONTENT", message)
    return MediaSource(
        type=_kind_of(content_type), url=url, content_type=content_type, size_bytes=answer.length_bytes
    )


def _kind_of(content_type: str) -> str:
    return "video" if content_type.startswith("video/") else "photo"


def _same_kind(declared: str, content_type: str) -> bool:
    """Whether a server's declared type fits the file's: many servers say image/jpg, and few tell MP4 and QuickTime
    apart."""
    aliases = {"image/jpg": "image/jpeg", "video/quicktime": "video/mp4", "video/x-m4v": "video/mp4"}
    return aliases.get(declared, declared) == aliases.get(content_type, content_type)
