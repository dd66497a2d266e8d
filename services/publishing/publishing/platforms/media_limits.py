"""Checks a file against its platform: type, bytes, shape and duration, by the figures in `contracts.platforms`. Pure.

A file that media can make fit is judged as its rendition will be (`contracts.renditions`): refused is only what no
machine can mend without cropping or cutting. Texts, settings and the number of files are checked in `limits.py`.
"""

from collections.abc import Sequence
from typing import TypeVar

from contracts.errors import ApiError, invalid
from contracts.platforms import GIF, JPEG, PLATFORMS, FileLimits
from contracts.publishing import MediaChange
from contracts.renditions import FileFacts, Need, after, limits_of, need_of
from publishing.platforms.base import MediaSource

N = TypeVar("N", int, float)


def check_files(
    platform_code: str,
    files: Sequence[tuple[str, MediaSource]],
    file_count: int,
    *,
    before_renditions: bool = False,
) -> list[ApiError]:
    """Returns every problem of the (name, file) pairs, each as a VALIDATION_ERROR of that name.

    `file_count` counts all files of the post, unknown ones included. Unknown properties of a file are not checked.
    `before_renditions` judges what media will make of the files. Kinds that a platform never takes are found by
    `limits.check_content`.
    """
    name, found = PLATFORMS[platform_code].name, []
    for field, source in files:
        file = source.facts
        if file.mime_type == GIF and "gif" in PLATFORMS[platform_code].files and file_count > 1:
            found.append(invalid(field, f"{name} takes a GIF only alone"))
        if before_renditions:
            file = after(need_of(platform_code, file), file)
        limits = limits_of(platform_code, file)
        if limits is not None:
            kind = "gif" if limits.types == (GIF,) else file.type
            found += [invalid(field, f"{name} takes {text}") for text in _problems(kind, limits, file)]
    return found


def changes(platform_code: str, files: Sequence[tuple[str, MediaSource]]) -> list[MediaChange]:
    """Returns what media will make of the files for the platform, for those that it does not take as they are."""
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
