"""The rules for the content of a post, in the spec's order: the same for schedule, publish and validate.

Errors are yielded one by one: schedule and publish raise the first, validate returns all. The only I/O is the
caller's `find`, which looks up the files behind media_ids.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from chassis.http.addresses import UnsafeAddress, check_url
from contracts.errors import INVALID_MEDIA_URL, NOT_FOUND, ApiError, invalid
from contracts.platforms import PLATFORMS
from contracts.publishing import MAX_MEDIA_PER_POST, MAX_MESSAGE_LENGTH, PostContent
from publishing.platforms.limits import check_content, check_files
from publishing.records import Attached, media_type_of

#: Returns the files behind media_ids, in their order. Raises NOT_FOUND with field media_ids.
Find = Callable[[Sequence[str]], Sequence[Attached]]
#: The end of an upload's public URL: /{key}/{filename} (decisions, spec "Media").
_OWN_PATH = re.compile(r"([A-Za-z0-9_-]+)/([^/?#\s]+)")
SETTINGS_FIELDS = tuple(row.settings_field for row in PLATFORMS.values())
_TEXT_FIELDS = ("message", "first_comment", "media_urls", "media_ids", *SETTINGS_FIELDS)


def find_nothing(media_ids: Sequence[str]) -> Sequence[Attached]:
    """A `Find` that never finds a file: raises NOT_FOUND for the first id."""
    raise ApiError(NOT_FOUND, f"There is no media {media_ids[0]}.", field="media_ids")


def findings(
    content: PostContent,
    platform: str,
    routed_hosts: Mapping[str, str],
    own_media: Sequence[str] = (),
    find: Find = find_nothing,
    message_limit: int | None = None,
) -> Iterator[ApiError]:
    """Yields the errors in the content of a post on this platform, most basic first. If the message or the media are
    malformed, yields only the basic errors.

    `routed_hosts`: hosts that are accepted without a check of their IP addresses. `own_media`: the beginnings of our
    public URLs. `message_limit`: the most characters that this account may write in a message, if it has a limit of its
    own.
    """
    basic = [*_unstorable(content), *_shape(content)]
    yield from basic
    if any(True for error in basic if _field(error) in ("message", "media_urls", "media_ids")):
        return
    if len(content.message or "") > MAX_MESSAGE_LENGTH:  # in a dry run or for one of several pages
        yield invalid("message", f"must have at most {MAX_MESSAGE_LENGTH} characters")
    yield from _urls(content, routed_hosts, own_media)
    yield from _foreign(content, platform)
    files: Sequence[Attached] = ()
    if content.media_ids:
        try:
            files = find(content.media_ids)
        except ApiError as error:
            if error.row is not NOT_FOUND:
                raise
            yield error
    yield from _unfit(content, platform, files, message_limit)


def _unfit(
    content: PostContent, platform: str, files: Sequence[Attached], message_limit: int | None
) -> Iterator[ApiError]:
    """Yields an error for each part of the content that the platform does not accept. A file that was not found counts
    as a file of unknown type."""
    held: list[str | None] = [file.type for file in files] or [None] * len(content.media_ids)
    by_url = [media_type_of(url) for url in content.media_urls]
    field = "media_urls" if content.media_urls or not content.media_ids else "media_ids"
    own = getattr(content, PLATFORMS[platform].settings_field)
    yield from check_content(
        platform, content.message or "", [*held, *by_url], content.first_comment, own, field, message_limit
    )
    named = [(f"media_ids[{number}]", file.source) for number, file in enumerate(files)]
    yield from check_files(platform, named, len(held) + len(by_url), before_renditions=True)


def own_file(url: str, own_media: Sequence[str]) -> tuple[str, str] | None:
    """Returns the storage key and file name in the public URL of an upload; None for other URLs. `own_media`: the
    beginnings of our public URLs."""
    for base in own_media:
        found = _OWN_PATH.fullmatch(url[len(base) :]) if url.startswith(base) else None
        if found:
            return found[1], unquote(found[2])
    return None


def columns(content: PostContent, files: Sequence[Attached] = ()) -> dict[str, Any]:
    """Returns the column values of a post's content, with the details of the files behind media_ids.

    An empty first comment is stored as none.
    """
    settings = {
        name: getattr(content, name) for name in SETTINGS_FIELDS if getattr(content, name) is not None
    }
    return {
        "message": content.message,
        "media_ids": list(content.media_ids),
        "media_urls": list(content.media_urls),
        "media_files": msgspec.to_builtins(files) if files else None,
        "first_comment": content.first_comment or None,
        "settings": settings or None,
    }


def storable(text: str) -> str:
    """Changes a platform's text so that PostgreSQL can store it: no NUL, no lone surrogates, at most 1,000
    characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:1_000]


def check_text(value: Any, field: str) -> None:
    """Raises VALIDATION_ERROR if the value contains text that PostgreSQL cannot store, at any depth of its JSON."""
    if not _is_storable(value):
        raise invalid(field, "must not contain NUL characters or lone surrogates")


def _unstorable(content: PostContent) -> Iterator[ApiError]:
    for name in _TEXT_FIELDS:
        if not _is_storable(getattr(content, name)):
            yield invalid(name, "must not contain NUL characters or lone surrogates")


def _is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, Mapping):
        return all(_is_storable(key) and _is_storable(item) for key, item in value.items())
    if isinstance(value, Sequence):
        return all(_is_storable(item) for item in value)
    return True


def _shape(content: PostContent) -> Iterator[ApiError]:
    media_count = len(content.media_urls) + len(content.media_ids)
    if not (content.message or "").strip() and media_count == 0:
        yield invalid("message", "either a message or at least one media item is required")
    if media_count > MAX_MEDIA_PER_POST:
        yield invalid(
            "media_urls", f"at most {MAX_MEDIA_PER_POST} media items, media_ids and media_urls together"
        )


def _urls(
    content: PostContent, routed_hosts: Mapping[str, str], own_media: Sequence[str]
) -> Iterator[ApiError]:
    for number, url in enumerate(content.media_urls):
        if own_file(url, own_media):
            continue
        try:
            check_url(url, routed_hosts)
        except UnsafeAddress as error:
            yield ApiError(INVALID_MEDIA_URL, f"media_urls[{number}]: {error.reason}", field="media_urls")


def _foreign(content: PostContent, platform: str) -> Iterator[ApiError]:
    """Yields an error for each field of the content that this platform does not have (docs/decisions.md, "Details of
    single operations").
    """
    row = PLATFORMS[platform]
    if content.first_comment and not row.first_comment:
        yield invalid("first_comment", f"{row.title} has no first comment")
    for name in SETTINGS_FIELDS:
        if getattr(content, name) is not None and name != row.settings_field:
            yield invalid(name, f"does not belong to a post on {row.title}")


def _field(error: ApiError) -> str:
    rows = error.extras.get("errors") or [{}]
    return str(rows[0].get("field", error.extras.get("field", "")))
