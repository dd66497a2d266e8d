"""Checks a post against its platform: lengths in the platform's count, number and mix of media, settings. Pure.

The figures are data in `contracts.platforms`; rules of one platform are in its folder (`plugin.py`). Rules that are the
same for every platform are not here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.errors import UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.platforms import PLATFORMS, Platform
from publishing.platforms.registry import PLUGINS


def length(platform_code: str, text: str) -> int:
    """Returns a text's length as the platform counts it."""
    count = PLUGINS[platform_code].length
    assert count is not None, "the registry sets it"
    return count(text)


def comment_length(platform_code: str, text: str) -> int:
    """Returns the length of a comment or reply as the platform counts it."""
    return PLUGINS[platform_code].comment_length(text)


def check_content(
    platform_code: str,
    message: str,
    media_types: Sequence[str | None],
    first_comment: str | None = None,
    settings: Mapping[str, Any] | None = None,
    media_field: str = "media_urls",
    account_limit: int | None = None,
) -> list[ApiError]:
    """Returns every problem: VALIDATION_ERROR, or UNSUPPORTED_PLATFORM for what the platform never takes.

    `media_types` are photo, video or None if not known yet; `media_field` is the request field that named them;
    `settings` are the platform's own; `account_limit` is the account's own longest message. Single files
    are checked by `media_limits.check_files`.
    """
    platform, plugin, own = PLATFORMS[platform_code], PLUGINS[platform_code], settings or {}
    message_length = length(platform_code, message)
    message_limit = platform.message_limit
    if "photo" in media_types and platform.photo_message_limit is not None:
        message_limit = platform.photo_message_limit
    message_limit = plugin.message_limit(own) or account_limit or message_limit
    first_length = comment_length(platform_code, first_comment or "")
    return [
        *_text(platform, "message", message_length, message_limit, platform.length_unit),
        *_text(platform, "first_comment", first_length, platform.comment_limit, "characters"),
        *plugin.check_text(message, own),
        *_media(platform, media_types, media_field),
        *plugin.check_settings(own, bool(media_types)),
    ]


def _text(platform: Platform, field: str, count: int, limit: int, unit: str) -> list[ApiError]:
    if count <= limit:
        return []
    return [invalid(field, f"{platform.name} takes at most {limit} {unit}, these are {count}")]


def _media(platform: Platform, media_types: Sequence[str | None], field: str) -> list[ApiError]:
    photos, videos = media_types.count("photo"), media_types.count("video")
    if not media_types:
        return [] if platform.text_only else [_unsupported(platform, "posts without a photo or video", field)]
    if photos and not platform.photos:
        return [_unsupported(platform, "photos", field)]
    if photos and videos and not platform.mixed_media:
        return [_unsupported(platform, "photos and videos in one post", field)]
    together = max(platform.photos, platform.videos)
    for count, limit, what in (
        (photos, platform.photos, "photos"),
        (videos, platform.videos, "videos"),
        (len(media_types), together, "media items"),
    ):
        if count > limit:
            return [invalid(field, f"{platform.name} takes at most {limit} {what} in one post")]
    return []


def _unsupported(platform: Platform, what: str, field: str) -> ApiError:
    message = f"{platform.name} does not take {what}."
    return ApiError(UNSUPPORTED_PLATFORM, message, platform=platform.code, field=field)
