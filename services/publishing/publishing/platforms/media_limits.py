"""Checks a file against its platform: type, bytes, shape and duration, by the figures in `contracts.platforms`. Pure.

Texts, settings and the number of files are checked in `limits.py`.
"""

from collections.abc import Sequence
from typing import TypeVar

from contracts.errors import ApiError, invalid
from contracts.platforms import GIF, PLATFORMS, FileLimits
from publishing.platforms.base import MediaSource

N = TypeVar("N", int, float)


def is_converted(platform_code: str, mime_type: str | None) -> bool:
    """Whether media converts such a file to JPEG before this platform gets it."""
    photo = PLATFORMS[platform_code].files.get("photo")
    return photo is not None and mime_type in photo.converted


def check_files(
    platform_code: str,
    files: Sequence[tuple[str, MediaSource]],
    file_count: int,
    *,
    before_conversion: bool = False,
) -> list[ApiError]:
    """Returns every problem of the (name, file) pairs, each as a VALIDATION_ERROR of that name.

    `file_count` counts all files of the post, unknown ones included. Unknown properties of a file are not checked.
    `before_conversion` accepts files that media will convert to JPEG, and checks only what the conversion keeps. Kinds
    that a platform never takes are found by `limits.check_content`.
    """
    table, name = PLATFORMS[platform_code].files, PLATFORMS[platform_code].name
    found = []
    for field, file in files:
        kind = "gif" if "gif" in table and file.content_type == GIF else file.type
        if kind == "gif" and file_count > 1:
            found.append(invalid(field, f"{name} takes a GIF only alone"))
        if kind in table:
            problems = _problems(kind, table[kind], file, before_conversion)
            found += [invalid(field, f"{name} takes {text}") for text in problems]
    return found


def _problems(kind: str, limits: FileLimits, file: MediaSource, before_conversion: bool) -> list[str]:
    converted = limits.converted if before_conversion else ()
    is_converted = file.content_type in converted
    taken = (*limits.types, *converted)
    if file.content_type is not None and file.content_type not in taken:
        return [f"{kind}s as {', '.join(taken)}, this one is {file.content_type}"]
    size = None if is_converted else file.size_bytes
    found = [
        _out_of(kind, "bytes", size, limits.size_bytes),
        _out_of(kind, "seconds", file.duration_seconds, limits.seconds),
        _out_of(kind, "frames a second", file.frame_rate and round(file.frame_rate), limits.frame_rate),
    ]
    if file.width and file.height:
        found.append(_out_of(kind, "pixels", file.width * file.height, (1, limits.pixels)))
        shorter, longer = sorted((file.width, file.height))
        found.append(_out_of(kind, "pixels on their shorter side", shorter,
                             (limits.shortest_side or 1, limits.shortest_side_max)))  # fmt: skip
        found.append(_out_of(kind, "pixels on their longer side", longer, (1, limits.longest_side_max)))
        found.append(_bad_shape(kind, limits, file.width, file.height))
    return [text for text in found if text]


def _out_of(kind: str, unit: str, value: N | None, bounds: tuple[N, N | None] | None) -> str:
    """Returns the complaint about a figure outside its bounds; empty if it is within."""
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
