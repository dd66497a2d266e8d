"""What a post may say and show: the field rules of schedule, publish and validate, in the spec's order.

Findings come one by one: a real call raises the first, a dry run shows them all. No database here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chassis.addresses import UnsafeAddress, check_url
from contracts.errors import INVALID_MEDIA_URL, NOT_FOUND, ApiError, invalid
from contracts.platforms import PLATFORMS
from contracts.publishing import MAX_MEDIA_PER_POST, MAX_MESSAGE_LENGTH, PostContent
from publishing.platforms.limits import check_content
from publishing.records import media_type_of

SETTINGS_FIELDS = tuple(name for name in PostContent.__struct_fields__ if name.endswith("_settings"))
_TEXT_FIELDS = ("message", "first_comment", "media_urls", "media_ids", *SETTINGS_FIELDS)


def findings(content: PostContent, platform: str, routed_hosts: Mapping[str, str]) -> Iterator[ApiError]:
    """Everything wrong with a post on this platform, most basic first."""
    basic = [*_unstorable(content), *_shape(content)]
    yield from basic
    if any(True for error in basic if _field(error) in ("message", "media_urls", "media_ids")):
        return
    if len(content.message or "") > MAX_MESSAGE_LENGTH:  # only a dry run comes so far with it
        yield invalid("message", f"must have at most {MAX_MESSAGE_LENGTH} characters")
    yield from _media(content, routed_hosts)
    yield from _foreign(content, platform)
    types = [media_type_of(url) for url in content.media_urls]
    own = getattr(content, settings_field(platform))
    yield from check_content(platform, content.message or "", types, content.first_comment, own)


def check(content: PostContent, platform: str, routed_hosts: Mapping[str, str]) -> None:
    """Raises the first finding: VALIDATION_ERROR, INVALID_MEDIA_URL, NOT_FOUND, UNSUPPORTED_PLATFORM."""
    for finding in findings(content, platform, routed_hosts):
        raise finding


def columns(content: PostContent) -> dict[str, Any]:
    """The content as it is stored. An empty comment is none."""
    settings = {
        name: getattr(content, name) for name in SETTINGS_FIELDS if getattr(content, name) is not None
    }
    return {
        "message": content.message,
        "media_ids": list(content.media_ids),
        "media_urls": list(content.media_urls),
        "first_comment": content.first_comment or None,
        "settings": settings or None,
    }


def check_text(value: Any, field: str) -> None:
    """Raises VALIDATION_ERROR for what neither PostgreSQL nor a platform takes, at any depth of a JSON value."""
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


def _media(content: PostContent, routed_hosts: Mapping[str, str]) -> Iterator[ApiError]:
    for number, url in enumerate(content.media_urls):
        try:
            check_url(url, routed_hosts)
        except UnsafeAddress as error:
            yield ApiError(INVALID_MEDIA_URL, f"media_urls[{number}]: {error.reason}", field="media_urls")
    if content.media_ids:  # there are no uploads until there is a media service
        yield ApiError(NOT_FOUND, "There is no such media.", field="media_ids")


def _foreign(content: PostContent, platform: str) -> Iterator[ApiError]:
    """What belongs to another platform, or to none like this (decisions "Details of single operations")."""
    row = PLATFORMS[platform]
    if content.first_comment and not row.first_comment:
        yield invalid("first_comment", f"{row.name} has no first comment")
    own = settings_field(platform)
    for name in SETTINGS_FIELDS:
        if getattr(content, name) is not None and name != own:
            yield invalid(name, f"does not belong to a post on {row.name}")


def settings_field(platform: str) -> str:
    """The settings field of a platform: `facebook_settings`; TW's is `x_settings`."""
    name = PLATFORMS[platform].name
    return "x_settings" if name == "twitter" else f"{name}_settings"


def _field(error: ApiError) -> str:
    rows = error.extras.get("errors") or [{}]
    return str(rows[0].get("field", error.extras.get("field", "")))
