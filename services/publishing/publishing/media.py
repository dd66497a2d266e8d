"""Media URLs at the moment of publishing: reached through the guarded client and judged by their leading bytes.

Only the beginning is read. Until there is a media service the platform is given the checked URL itself.
"""

from collections.abc import Sequence

from chassis.addresses import UnsafeAddress
from chassis.guarded_http import FetchFailed, stream
from publishing.config import Settings
from publishing.platforms.base import MediaSource, PlatformRefusal, Refusal

#: Spec "Upload rules": the types taken, by their leading bytes; MP4 and QuickTime differ in the brand.
_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
#: What servers say when they do not know.
_VAGUE = ("", "application/octet-stream", "binary/octet-stream")


def resolve(settings: Settings, urls: Sequence[str]) -> tuple[MediaSource, ...]:
    """The files as the connector wants them. Raises PlatformRefusal, retryable when the server may recover."""
    return tuple(_resolve(settings, url) for url in urls)


def content_type_of(head: bytes) -> str | None:
    """The type of a file by its first bytes; None when it is none that may be posted."""
    if head[4:8] == b"ftyp":
        return "video/quicktime" if head[8:12] == b"qt  " else "video/mp4"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def _resolve(settings: Settings, url: str) -> MediaSource:
    try:
        with stream(
            url,
            max_bytes=settings.max_media_bytes,
            timeout_seconds=settings.media_timeout_seconds,
            host_map=settings.outbound_host_map,
        ) as answer:
            status, declared = answer.status, answer.content_type
            head = next(answer.chunks, b"")
    except UnsafeAddress as error:
        raise PlatformRefusal(Refusal.REJECTED, "INVALID_MEDIA_URL", f"{url}: {error.reason}") from error
    except FetchFailed as error:
        kind = Refusal.TRANSIENT if error.retryable else Refusal.REJECTED
        raise PlatformRefusal(kind, "MEDIA_UNREACHABLE", f"{url}: {error.message}") from error
    if status != 200:
        kind = Refusal.TRANSIENT if status >= 500 or status == 429 else Refusal.REJECTED
        raise PlatformRefusal(kind, "MEDIA_UNREACHABLE", f"{url}: its server answers {status}.")
    return _judged(url, head, declared)


def _judged(url: str, head: bytes, declared: str) -> MediaSource:
    content_type = content_type_of(head)
    if content_type is None or (declared not in _VAGUE and not _same_kind(declared, content_type)):
        what = content_type or "no photo or video that can be posted"
        message = f"{url}: declared as {declared or 'nothing'}, but it is {what}."
        raise PlatformRefusal(Refusal.REJECTED, "INVALID_FILE_CONTENT", message)
    return MediaSource(
        type=content_type.split("/")[0].replace("image", "photo"), url=url, content_type=content_type
    )


def _same_kind(declared: str, content_type: str) -> bool:
    """image/jpg is said for image/jpeg, and MP4 and QuickTime are told apart by few servers."""
    aliases = {"image/jpg": "image/jpeg", "video/quicktime": "video/mp4", "video/x-m4v": "video/mp4"}
    return aliases.get(declared, declared) == aliases.get(content_type, content_type)
