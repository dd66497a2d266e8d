"""What each platform takes: lengths in its own count, number and mix of media, its own settings. Pure.

The figures are data in `contracts.platforms`. Rules that hold for every platform alike are not here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chassis.addresses import UnsafeAddress, check_url
from contracts.errors import UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.platforms import PLATFORMS, Platform
from publishing.platforms.linkedin.settings import LinkedInPostSettings
from publishing.platforms.linkedin.text import little_text
from publishing.platforms.tiktok.settings import TikTokPostSettings
from publishing.platforms.typed import complaints
from publishing.platforms.x.settings import XPostSettings
from publishing.platforms.x.text import weighted_length
from publishing.platforms.youtube.texts import problems as youtube_problems

#: platforms.md 3.
_INSTAGRAM_HASHTAGS = 30
_INSTAGRAM_MENTIONS = 20
#: All platforms' alternative texts are cut at most here. Our choice: Instagram's.
_ALT_TEXT_CHARACTERS = 1_000

_LENGTHS: Mapping[str, Callable[[str], int]] = {
    "characters": len,
    # platforms.md 4: escapes count.
    "escaped characters": lambda text: len(little_text(text)),
    "weighted characters": weighted_length,
    "UTF-16 units": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
}


def length(platform_code: str, text: str) -> int:
    """A text's length as the platform counts it."""
    return _LENGTHS[PLATFORMS[platform_code].length_unit](text)


def comment_length(platform_code: str, text: str) -> int:
    """The same for a comment or reply: a reply on X is a post, elsewhere comments are plain text (platforms.md 4)."""
    return weighted_length(text) if platform_code == "TW" else len(text)


def check_content(
    platform_code: str,
    message: str,
    media_types: Sequence[str | None],
    first_comment: str | None = None,
    settings: Mapping[str, Any] | None = None,
    media_field: str = "media_urls",
) -> list[ApiError]:
    """Everything the platform would not take: VALIDATION_ERROR, or UNSUPPORTED_PLATFORM for what it never does.

    `media_types` are photo, video or None for what is not known yet, `media_field` is where they were named;
    `settings` are the platform's own. What it takes of a single file is `media_limits.check_files`.
    """
    platform = PLATFORMS[platform_code]
    return [
        *_text(platform, "message", message, platform.message_limit),
        *_text(platform, "first_comment", first_comment or "", platform.comment_limit),
        *(_instagram_text(message) if platform_code == "IG" else ()),
        *(youtube_problems(message, settings or {}) if platform_code == "YT" else ()),
        *_media(platform, media_types, media_field),
        *_SETTINGS.get(platform_code, lambda settings, has_media: [])(settings or {}, bool(media_types)),
    ]


def _text(platform: Platform, field: str, text: str, limit: int) -> list[ApiError]:
    count = length(platform.code, text)
    if count <= limit:
        return []
    return [
        invalid(field, f"{platform.name} takes at most {limit} {platform.length_unit}, these are {count}")
    ]


def _instagram_text(text: str) -> list[ApiError]:
    counts = (("hashtags", r"#\w", _INSTAGRAM_HASHTAGS), ("mentions", r"(?<!\w)@\w", _INSTAGRAM_MENTIONS))
    return [
        invalid("message", f"instagram takes at most {limit} {what}")
        for what, pattern, limit in counts
        if len(re.findall(pattern, text)) > limit
    ]


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


def _facebook_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    field = "facebook_settings.link"
    if settings.get("link") is None:
        return []
    if has_media:
        return [invalid(field, "a post with media shows no link; put it into the message")]
    return _url(field, settings["link"])


def _instagram_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    rules: Mapping[str, tuple[Callable[[Any], bool], str]] = {
        "share_to_feed": (lambda value: isinstance(value, bool), "must be true or false"),
        "thumb_offset": (
            lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
            "must be a whole number of milliseconds",
        ),
        "alt_text": (
            lambda value: isinstance(value, str) and len(value) <= _ALT_TEXT_CHARACTERS,
            f"must be a text of at most {_ALT_TEXT_CHARACTERS} characters",
        ),
    }
    found = [
        invalid(f"instagram_settings.{name}", complaint)
        for name, (is_good, complaint) in rules.items()
        if settings.get(name) is not None and not is_good(settings[name])
    ]
    if settings.get("cover_url") is not None:
        found += _url("instagram_settings.cover_url", settings["cover_url"])
    return found


def _linkedin_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    found, field = (
        complaints("linkedin_settings", LinkedInPostSettings, settings),
        "linkedin_settings.article",
    )
    if found or settings.get("article") is None:
        return found
    if has_media:
        return [invalid(field, "a post with media shows no article")]
    return _url(f"{field}.source", settings["article"]["source"])


#: Settings that are not named here are handed to nobody and may hold anything.
_SETTINGS: Mapping[str, Callable[[Mapping[str, Any], bool], list[ApiError]]] = {
    "FB": _facebook_settings,
    "IG": _instagram_settings,
    "TT": lambda settings, has_media: complaints("tiktok_settings", TikTokPostSettings, settings),
    "LN": _linkedin_settings,
    "TW": lambda settings, has_media: complaints("x_settings", XPostSettings, settings),
}


def _url(field: str, value: Any) -> list[ApiError]:
    if not isinstance(value, str):
        return [invalid(field, "must be a URL")]
    try:
        check_url(value)
    except UnsafeAddress as error:
        return [invalid(field, error.reason)]
    return []
