"""Files at other servers (`media_urls`): fetched by the guarded client, and copied into our storage.

The media service treats a copy like an upload: it inspects the file, removes what is private, and converts it for the
platform. A file that cannot be copied is sent as it is: its server does not say how long it is, it is too large for an
upload, or the account has too many copies at the moment.
"""

import hashlib
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain

import structlog

from chassis.bus.clients import remote
from chassis.http.addresses import UnsafeAddress
from chassis.http.guarded_client import FetchFailed, Stream, stream
from contracts.caller import Caller
from contracts.errors import (
    FILE_TOO_LARGE,
    MEDIA_PROCESSING,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    SERVICE_UNAVAILABLE,
    ApiError,
)
from contracts.media import BeginUpload, CommitUpload, MediaApi, UploadId, owner_of_copies
from contracts.record import Nothing
from publishing.config import Settings
from publishing.platforms.base import MediaSource, PlatformRefusal, Refusal
from publishing.platforms.uploads.sources import exactly, store

log = structlog.get_logger()

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
#: The limits of copies, for every account: 250 MB for one, 5 GB for all of an account (`contracts.plans`). The
#: account's own tier limits what it uploads.
_TIER = "elite"
#: A post uses a copy for at most this long: half of the 24 h for which the media service keeps it, so that no copy is
#: removed while it is sent.
_USED_SECONDS = 12 * 3600
#: The deadline of the call in which media inspects a copy. Our choice: a video waits up to 25 s for its turn.
_COMMIT_SECONDS = 30.0
#: While the media service is busy, the call is repeated for this long, with this pause. Our choice: two such turns.
_BUSY_SECONDS, _BUSY_PAUSE_SECONDS = 60.0, 1.0
#: The Retry-After of a publish whose files are still being fetched: that of the media service for a picture.
_FETCH_AGAIN_SECONDS = 2
_STILL_FETCHED = "The files at media_urls are still being fetched. Nothing was sent."
#: The copies that this process is making, by the ids of account and operation.
_under_way: dict[tuple[str, str | None], Future[str | None]] = {}


def copier(account_id: str, name: str, url: str) -> Caller:
    """Returns the caller in whose name the file at the URL is copied. `name` names the post, or all posts of a request:
    as long as it is the same, so is the copy.
    """
    operation = f"{name}\n{url}\n{int(time.time() // _USED_SECONDS)}"
    owner = owner_of_copies(account_id)
    digest = hashlib.sha256(operation.encode()).hexdigest()
    return Caller(account_id=owner, user_id=owner, tier=_TIER, operation_id=f"copy:{digest}")


def still_fetched() -> ApiError:
    """Builds the error MEDIA_PROCESSING for files that are still being copied."""
    return ApiError(MEDIA_PROCESSING, _STILL_FETCHED, retry_after_seconds=_FETCH_AGAIN_SECONDS)


def copy(media: MediaApi, settings: Settings, caller: Caller, url: str, seconds: float) -> str | None:
    """Copies the file at the URL into our storage and returns its media id; None for a file that cannot be copied.
    `caller` is from `copier`. A repeated call returns the same copy without asking the file's server. While this
    process makes the copy already, waits for it and returns or raises the same.

    `seconds` limits the transfer or the wait. Raises PlatformRefusal if the file's server or the storage fails, and the
    errors of the media service: those of a file that it does not accept, and SERVICE_UNAVAILABLE. Raises
    MEDIA_PROCESSING if the other call takes longer than `seconds`.
    """
    key, mine = (caller.account_id, caller.operation_id), Future[str | None]()
    other = _under_way.setdefault(key, mine)
    if other is not mine:
        wait((other,), seconds)
        if not other.done():
            raise still_fetched()
        return other.result()
    try:
        mine.set_result(_copy(media, settings, caller, url, seconds))
    except BaseException as error:  # if this thread ends, the others may try again
        mine.set_exception(error if isinstance(error, Exception) else ApiError(SERVICE_UNAVAILABLE))
        raise
    finally:
        del _under_way[key]
    return mine.result()


def _copy(media: MediaApi, settings: Settings, caller: Caller, url: str, seconds: float) -> str | None:
    """Does the work of `copy`. If another process makes the same copy, the media service keeps one file of both."""
    try:
        made = media.get_made(caller, Nothing()).media_id
    except ApiError as error:
        if error.row is NOT_FOUND:  # a media service of release 1.4.0 makes no copies
            return None
        raise
    if made is not None:
        return made
    with _stream(settings, url, min(seconds, settings.media_timeout_seconds)) as answer:
        declared, size_bytes = answer.content_type, answer.length_bytes
    if size_bytes is None:
        return None
    begin = BeginUpload(filename="", mime_type=declared, size_bytes=size_bytes, generated=True)
    try:
        ticket = media.begin_upload(caller, begin)
        try:
            seconds = min(seconds, settings.media_transfer_seconds)
            with _stream(settings, url, seconds, counts_our_time=False) as answer:
                store(ticket.url, ticket.headers, size_bytes, exactly(answer.chunks, size_bytes))
            return _committed(media, caller, CommitUpload(upload_id=ticket.upload_id, size_bytes=size_bytes))
        except BaseException:
            with suppress(ApiError):
                media.abort_upload(caller, UploadId(upload_id=ticket.upload_id))
            raise
    except ApiError as error:
        if error.row not in (FILE_TOO_LARGE, QUOTA_EXCEEDED):
            raise
        log.warning("file_not_copied", code=error.code, size_bytes=size_bytes)
        return None


def _committed(media: MediaApi, caller: Caller, request: CommitUpload) -> str:
    """Commits the upload and returns the file's media id. Asks again while the media service is busy."""
    give_up_at = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return remote(media.commit_upload)(caller, request, timeout_seconds=_COMMIT_SECONDS).media_id
        except ApiError as error:
            if error.row is NOT_FOUND:
                # The upload has ended: another process's copy was kept, or the answer that told of a refusal was lost.
                made = media.get_made(caller, Nothing()).media_id
                if made is None:
                    raise ApiError(SERVICE_UNAVAILABLE) from error
                return made
            if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                raise
        time.sleep(_BUSY_PAUSE_SECONDS)


def as_it_is(settings: Settings, url: str) -> MediaSource:
    """Returns a file at another server that cannot be copied, to be sent from there. Raises PlatformRefusal for a file
    that is not of an accepted type, or not of the one that its server declares; retryable if its server may recover.
    """
    with _stream(settings, url, settings.media_timeout_seconds) as answer:
        source = _judged(url, next(answer.chunks, b""), answer)
    return replace(source, opener=partial(_open, settings, source)) if source.size_bytes else source


def content_type_of(head: bytes) -> str | None:
    """Returns the content type of a file by its first bytes; None if files of its type cannot be posted."""
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


@contextmanager
def _open(settings: Settings, source: MediaSource) -> Iterator[Iterator[bytes]]:
    """Opens a file at another server once more, to send it. Raises PlatformRefusal if its URL leads to another file by
    now.
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
        type=kind_of(content_type), url=url, content_type=content_type, size_bytes=answer.length_bytes
    )


def kind_of(content_type: str) -> str:
    return "video" if content_type.startswith("video/") else "photo"


def _same_kind(declared: str, content_type: str) -> bool:
    """Whether a server's declared type fits the file's: many servers say image/jpg, and few tell MP4 and QuickTime
    apart."""
    aliases = {"image/jpg": "image/jpeg", "video/quicktime": "video/mp4", "video/x-m4v": "video/mp4"}
    return aliases.get(declared, declared) == aliases.get(content_type, content_type)
