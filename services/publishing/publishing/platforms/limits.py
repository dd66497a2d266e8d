"""Checks a post against its platform's limits: the lengths as the platform counts them, the number and mix of media,
the settings and the files. Pure.

The figures are data in `contracts.platforms`; rules of one platform are in its folder (`plugin.py`). When a client's
request is checked, a file that the media service can convert is judged as it will be after the conversion
(`contracts.renditions`): only a file that would need cropping or cutting is refused.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from contracts.errors import UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.platforms import GIF, JPEG, PLATFORMS, FileLimits, Platform
from contracts.post_settings import OPEN_SETTINGS, POST_SETTINGS
from contracts.publishing import MediaChange
from contracts.record import Record
from contracts.renditions import FileFacts, Need, after, limits_of, need_of
from publishing.platforms.base import MediaSource
from publishing.platforms.registry import PLUGINS

N = TypeVar("N", int, float)


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
    """Returns every problem of a post's content.

    A problem is a VALIDATION_ERROR, or UNSUPPORTED_PLATFORM for content that the platform never takes. `media_types`
    has photo, video or None for each file; None means that the type is not known yet. `media_field` is the request
    field that named the media. `settings` are those for this platform. `account_limit` is the longest message that this
    account may post. Single files are checked by `check_files`.
    """
    platform, plugin, own = PLATFORMS[platform_code], PLUGINS[platform_code], settings or {}
    message_length = length(platform_code, message)
    message_limit = platform.message_limit
    if "photo" in media_types and platform.photo_message_limit is not None:
        message_limit = platform.photo_message_limit
    own_limit = plugin.message_limit(own) if plugin.message_limit else None
    message_limit = own_limit or account_limit or message_limit
    first_length = comment_length(platform_code, first_comment or "")
    return [
        *_text(platform, "message", message_length, message_limit, platform.length_unit),
        *_text(platform, "first_comment", first_length, platform.comment_limit, "characters"),
        *(plugin.check_text(message, own) if plugin.check_text else ()),
        *_media(platform, media_types, media_field),
        *(_settings(platform_code, own, bool(media_types)) if own else ()),
    ]


def _settings(platform_code: str, own: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    check = PLUGINS[platform_code].check_settings
    found = setting_errors(platform_code, own) if platform_code in POST_SETTINGS else []
    return found or (check(own, has_media) if check else [])


def setting_errors(platform_code: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns one VALIDATION_ERROR for each setting that does not fit or is unknown; null counts as not sent.

    An unknown setting is refused, because a misspelt one would have no effect: `visiblity` would publish for
    everybody. On platforms that accept further settings (`OPEN_SETTINGS`), an unknown setting is refused only if it
    looks like a known one.
    """
    field, kind = PLATFORMS[platform_code].settings_field, POST_SETTINGS[platform_code]
    found = _unknown(field, kind, settings, is_open=platform_code in OPEN_SETTINGS)
    for row in msgspec.structs.fields(kind):
        value = settings.get(row.encode_name)
        if value is None:
            continue
        try:
            msgspec.convert(value, row.type)
        except msgspec.ValidationError as error:
            found.append(invalid(f"{field}.{row.encode_name}", str(error)))
            continue
        if isinstance(value, Mapping):
            found += _unknown(f"{field}.{row.encode_name}", _record_in(row.type), value, is_open=False)
    return found


def open_setting_errors(platform_code: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns an error for each unknown setting that `setting_errors` accepts, as it does on the platforms in
    `OPEN_SETTINGS`.

    Used for the settings in a request's `overrides`. The spec has no `overrides`, so no client relies on passing
    unknown settings there.
    """
    field, kind = PLATFORMS[platform_code].settings_field, POST_SETTINGS[platform_code]
    permitted = {str(error) for error in setting_errors(platform_code, settings)}
    unknown = _unknown(field, kind, settings, is_open=False)
    return [error for error in unknown if str(error) not in permitted]


def _unknown(field: str, kind: type[Record], settings: Mapping[str, Any], *, is_open: bool) -> list[ApiError]:
    known = [row.encode_name for row in msgspec.structs.fields(kind)]
    found = []
    for name in settings:
        if name in known:
            continue
        close = get_close_matches(name, known, n=1)
        if close:
            found.append(invalid(f"{field}.{name}", f"is not a setting; did you mean {close[0]}?"))
        elif not is_open:
            found.append(invalid(f"{field}.{name}", f"is not a setting; there are {', '.join(known)}"))
    return found


def _record_in(kind: Any) -> type[Record]:
    """Returns the record class in a type such as `Article | None`."""
    found: type[Record] = next(
        part for part in getattr(kind, "__args__", (kind,)) if hasattr(part, "__struct_fields__")
    )
    return found


def _text(platform: Platform, field: str, count: int, limit: int, unit: str) -> list[ApiError]:
    if count <= limit:
        return []
    return [invalid(field, f"{platform.title} takes at most {limit} {unit}, these are {count}")]


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
            return [invalid(field, f"{platform.title} takes at most {limit} {what} in one post")]
    return []


def _unsupported(platform: Platform, what: str, field: str) -> ApiError:
    message = f"{platform.title} does not take {what}."
    return ApiError(UNSUPPORTED_PLATFORM, message, platform=platform.code, field=field)


def check_files(
    platform_code: str,
    files: Sequence[tuple[str, MediaSource]],
    file_count: int,
    *,
    before_renditions: bool = False,
) -> list[ApiError]:
    """Checks each file alone. Returns a VALIDATION_ERROR for each problem, with the file's name as its field.

    `files`: pairs of a name, such as `media_ids[0]`, and a file. A property of a file that is None, because it is not
    known, is not checked. `file_count`: how many files the post has, which may be more than `files`.
    `before_renditions`: judges a file as it will be after the media service has converted it. Types of media that a
    platform never takes are found by `check_content`.
    """
    title, found = PLATFORMS[platform_code].title, []
    for field, source in files:
        file = source.facts
        if file.mime_type == GIF and "gif" in PLATFORMS[platform_code].files and file_count > 1:
            found.append(invalid(field, f"{title} takes a GIF only alone"))
        if before_renditions:
            file = after(need_of(platform_code, file), file)
        limits = limits_of(platform_code, file)
        if limits is not None:
            kind = "gif" if limits.types == (GIF,) else file.type
            found += [invalid(field, f"{title} takes {text}") for text in _problems(kind, limits, file)]
    return found


def changes(platform_code: str, files: Sequence[tuple[str, MediaSource]]) -> list[MediaChange]:
    """Returns how the media service will change each file that the platform does not take as it is."""
    found = []
    for field, source in files:
        need = need_of(platform_code, source.facts)
        if need is not None:
            message = f"will be {_described(need, source.facts)} for {PLATFORMS[platform_code].title}"
            found.append(
                MediaChange(
                    field=field,
                    message=message,
                    mime_type=need.mime_type,
                    width=need.width,
                    height=need.height,
                )
            )
    return found


def _described(need: Need, file: FileFacts) -> str:
    parts = []
    if need.width and need.height and (need.width, need.height) != (file.width, file.height):
        parts.append(f"scaled to {need.width:,} × {need.height:,}")
    if need.frame_rate:
        parts.append(f"given {need.frame_rate:g} frames a second")
    if file.mime_type is not None and file.mime_type != need.mime_type:
        still = (
            "its first picture, as a "
            if file.mime_type == GIF and need.mime_type == JPEG
            else "converted to "
        )
        parts.append(still + need.mime_type.partition("/")[2].upper())
    if file.size_bytes is not None and file.size_bytes > need.max_bytes:
        parts.append(f"compressed to at most {need.max_bytes:,} bytes")
    return " and ".join(parts) or "encoded anew"


def _problems(kind: str, limits: FileLimits, file: FileFacts) -> list[str]:
    if file.mime_type is not None and file.mime_type not in limits.types:
        return [f"{kind}s as {', '.join(limits.types)}, this one is {file.mime_type}"]
    found = [
        _out_of(kind, "bytes", file.size_bytes, limits.size_bytes),
        _out_of(kind, "seconds", file.duration_seconds, limits.seconds),
        _out_of(kind, "frames a second", file.frame_rate and round(file.frame_rate), limits.frame_rate),
    ]
    if file.width and file.height:
        found.append(_out_of(kind, "pixels", file.width * file.height, (1, limits.pixels)))
        shorter, longer = sorted((file.width, file.height))
        found.append(_out_of(kind, "pixels on their shorter side", shorter,
                             (limits.shortest_side or 1, limits.shortest_side_max)))  # fmt: skip
        found.append(_out_of(kind, "pixels on their longer side", longer, (1, limits.longest_side_max)))
        found.append(_out_of(kind, "pixels from left to right", file.width, (1, limits.width_max)))
        found.append(_bad_shape(kind, limits, file.width, file.height))
    return [text for text in found if text]


def _out_of(kind: str, unit: str, value: N | None, bounds: tuple[N, N | None] | None) -> str:
    """Returns the error message for a figure of a file that is outside its bounds. Returns an empty text if it is
    within them, or if the figure or the bounds are not known."""
    if value is None or bounds is None:
        return ""
    low, high = bounds
    if high is not None and value > high:
        return f"{kind}s of at most {high:,} {unit}, this one has {value:,}"
    return f"{kind}s of at least {low:,} {unit}, this one has {value:,}" if value < low else ""


def _bad_shape(kind: str, limits: FileLimits, width: int, height: int) -> str:
    if limits.aspect is None:
        return ""
    low, high = limits.aspect
    # 1.91:1 is 1080 x 566 in whole pixels.
    half_a_pixel = 0.5 / height
    if low - half_a_pixel <= width / height <= high + half_a_pixel:
        return ""
    return f"{kind}s between {low:g}:1 and {high:g}:1, this one is {width} x {height}"
