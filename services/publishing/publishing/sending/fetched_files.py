"""Files at other servers (`media_urls`): fetched by the guarded client, and copied into our storage.

The media service treats a copy like an upload: it inspects the file, removes what is private, and converts it for the
platform. There is no copy of a file whose server does not say how long it is, or which is too large for an upload: the
platform gets it as it is.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from chassis.bus.clients import remote
from chassis.http.addresses import UnsafeAddress
from chassis.http.guarded_client import FetchFailed, Stream, stream
from contracts.caller import Caller
from contracts.errors import FILE_TOO_LARGE, QUOTA_EXCEEDED, SERVICE_UNAVAILABLE, ApiError
from contracts.media import BeginUpload, CommitUpload, MediaApi, UploadId, UploadTicket, owner_of_copies
from contracts.record import Nothing
from publishing.config import Settings
from publishing.platforms.base import MediaSource, PlatformRefusal, Refusal
from publishing.platforms.uploads.sources import exactly, store

#: The accepted types by their first bytes (spec "Upload rules"); files with `ftyp` differ in the brand.
_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_BRANDS = {b"qt  ": "video/quicktime", b"avif": "image/avif"} | dict.fromkeys(
    (b"heic", b"heix", b"mif1"), "image/heic"
)
#: Content types of servers that do not know the type.
_VAGUE = ("", "application/octet-stream", "binary/octet-stream")
#: So much of a file tells it from another of the same length and type at the same URL. Our choice.
_HEAD_BYTES = 16 * 1024
#: Copies of all accounts may be as large as this tier's uploads: an account's own tier limits what it uploads.
_TIER = "elite"
#: A copy is used for half as long as the media service keeps it (24 h), so that none is removed while it is sent.
_USED_SECONDS = 12 * 3600
#: The media service inspects a file within this time, or is busy and asked again after the pause. Our choice.
_COMMIT_SECONDS, _BUSY_SECONDS, _BUSY_PAUSE_SECONDS = 30.0, 60.0, 1.0


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file at another server, of which the beginning was read."""

    source: MediaSource
    #: A hash of the beginning.
    digest: str

    def copier(self, account_id: str, operation: str) -> Caller:
        """Returns the caller that copies the file for a post of the account. `operation` names the post: the operation
        that made it, or its id. Another file at the same URL is another copy.
        """
        source, period = self.source, int(time.time() // _USED_SECONDS)
        parts = (operation, source.url, source.content_type, source.size_bytes, self.digest, period)
        name = hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
        owner = owner_of_copies(account_id)
        return Caller(account_id=owner, user_id=owner, tier=_TIER, operation_id=f"copy:{name}")


def fetch(settings: Settings, url: str) -> FetchedFile:
    """Reads the beginning of a file at another server and returns what kind of file it is. Raises PlatformRefusal,
    which is retryable if the server may recover.
    """
    head = b""
    with _stream(settings, url, settings.media_timeout_seconds) as answer:
        while len(head) < _HEAD_BYTES and (chunk := next(answer.chunks, b"")):
            head += chunk
        source = _judged(url, head, answer)
    if source.size_bytes:
        source = replace(source, opener=partial(_open, settings, source, settings.media_transfer_seconds))
    return FetchedFile(source, hashlib.sha256(head[:_HEAD_BYTES]).hexdigest())


def copy(
    media: MediaApi, settings: Settings, caller: Caller, source: MediaSource, seconds: float
) -> str | None:
    """Copies a fetched file into our storage and returns its media id; None for a file that cannot be copied. `caller`
    is from `copier`; a repeated call returns the same copy.

    `seconds` limits the transfer. Raises PlatformRefusal if the file's server or the storage fails, and the errors of
    the media service: those of a file that it does not accept, and SERVICE_UNAVAILABLE.
    """
    if source.size_bytes is None:
        return None
    made = media.get_made(caller, Nothing()).media_id
    if made is not None:
        return made
    begin = BeginUpload(
        filename="", mime_type=source.content_type or "", size_bytes=source.size_bytes, generated=True
    )
    try:
        ticket = media.begin_upload(caller, begin)
    except ApiError as error:
        if error.row in (FILE_TOO_LARGE, QUOTA_EXCEEDED):
            return None
        raise
    try:
        with _open(settings, source, min(seconds, settings.media_transfer_seconds)) as chunks:
            store(ticket.url, ticket.headers, source.size_bytes, chunks)
        return _committed(media, caller, ticket, source.size_bytes)
    except BaseException:
        with suppress(ApiError):
            media.abort_upload(caller, UploadId(upload_id=ticket.upload_id))
        raise


def content_type_of(head: bytes) -> str | None:
    """Returns the content type of a file by its first bytes; None if files of its type cannot be posted."""
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def _committed(media: MediaApi, caller: Caller, ticket: UploadTicket, size_bytes: int) -> str:
    """Commits the upload and returns the file's media id. Asks again while the media service is busy."""
    commit_upload = remote(media.commit_upload)
    request = CommitUpload(upload_id=ticket.upload_id, size_bytes=size_bytes)
    give_up_at = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return commit_upload(caller, request, timeout_seconds=_COMMIT_SECONDS).media_id
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                raise
        time.sleep(_BUSY_PAUSE_SECONDS)


@contextmanager
def _open(settings: Settings, source: MediaSource, seconds: float) -> Iterator[Iterator[bytes]]:
    """Opens a file at another server once more, to send or copy it. Raises PlatformRefusal if its URL leads to another
    file by now.
    """
    assert source.url is not None
    assert source.size_bytes is not None
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
