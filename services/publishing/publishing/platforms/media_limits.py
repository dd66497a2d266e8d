"""What each platform takes of one file: type, bytes, shape, length. A table and its judgement; pure.

The figures are platforms.md 2–7; where it says MB it means 2^20 bytes (decisions). How many files a post may have is
in `contracts.platforms`, texts and settings are in `limits.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from contracts.errors import ApiError, invalid
from contracts.platforms import PLATFORMS
from publishing.platforms.base import MediaSource

MIB = 2**20
JPEG, PNG, GIF, WEBP = "image/jpeg", "image/png", "image/gif", "image/webp"
MP4, MOV, WEBM = "video/mp4", "video/quicktime", "video/webm"

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Of one kind of file on one platform; bounds are inclusive, None is no bound."""

    types: tuple[str, ...]
    #: Types that media makes a JPEG of, for a platform that does not take them.
    converted: tuple[str, ...] = ()
    size_bytes: tuple[int, int | None] = (1, None)
    seconds: tuple[float, float] | None = None
    #: Pixels.
    width: tuple[int, int] | None = None
    shortest_side: int | None = None
    pixels: int | None = None
    #: Width to height.
    aspect: tuple[float, float] | None = None


#: By platform and kind; a GIF is a photo where it has no limits of its own.
FILE_LIMITS: Mapping[str, Mapping[str, FileLimits]] = {
    "FB": {
        # "Less than 4 MB".
        "photo": FileLimits(types=(JPEG, PNG, GIF), converted=(WEBP,), size_bytes=(1, 4 * MIB - 1)),
        "video": FileLimits(types=(MP4, MOV), size_bytes=(1, 1024 * MIB), seconds=(0, 20 * 60)),
    },
    "IG": {
        "photo": FileLimits(
            types=(JPEG,), converted=(PNG, WEBP), size_bytes=(1, 8 * MIB), width=(320, 1440), aspect=(4 / 5, 1.91)
        ),
        "video": FileLimits(types=(MP4, MOV), size_bytes=(1, 300 * MIB), seconds=(3, 15 * 60)),
    },
    "LN": {
        "photo": FileLimits(
            types=(JPEG, PNG, GIF), converted=(WEBP,), size_bytes=(1, 8 * MIB), pixels=36_150_000
        ),
        "video": FileLimits(types=(MP4,), size_bytes=(75 * 1024, 500 * MIB), seconds=(3, 30 * 60)),
    },
    "TT": {
        "photo": FileLimits(types=(JPEG, WEBP), converted=(PNG,), size_bytes=(1, 20 * MIB)),
        "video": FileLimits(
            types=(MP4, MOV, WEBM), size_bytes=(1, 4096 * MIB), seconds=(0, 10 * 60), shortest_side=360
        ),
    },
    "TW": {
        "photo": FileLimits(types=(JPEG, PNG, WEBP), size_bytes=(1, 5 * MIB)),
        "gif": FileLimits(types=(GIF,), size_bytes=(1, 15 * MIB)),
        "video": FileLimits(types=(MP4, MOV), size_bytes=(1, 512 * MIB), seconds=(0.5, 140)),
    },
    "YT": {"video": FileLimits(types=(MP4, MOV, WEBM), size_bytes=(1, 256 * 1024 * MIB))},
}  # fmt: skip


def is_converted(platform_code: str, mime_type: str | None) -> bool:
    """Whether media has to make a JPEG of such a file before this platform gets it."""
    photo = FILE_LIMITS[platform_code].get("photo")
    return photo is not None and mime_type in photo.converted


def check_files(
    platform_code: str,
    files: Sequence[tuple[str, MediaSource]],
    file_count: int,
    *,
    before_conversion: bool = False,
) -> list[ApiError]:
    """Everything about (name, file) that the platform would not take, each a VALIDATION_ERROR of that name.

    `file_count` is how many the post has in all, those that nothing is known of included. What is not known of a file
    is not judged. `before_conversion` lets pass what media will make a JPEG of, and judges of it what stays the same.
    Kinds a platform never takes are `limits.check_content`'s.
    """
    table, name = FILE_LIMITS[platform_code], PLATFORMS[platform_code].name
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
        _out_of(kind, "pixels of width", file.width, limits.width),
    ]
    if file.width and file.height:
        found.append(_out_of(kind, "pixels", file.width * file.height, (1, limits.pixels)))
        found.append(_out_of(kind, "pixels on their shorter side", min(file.width, file.height),
                             (limits.shortest_side or 1, None)))  # fmt: skip
        found.append(_bad_shape(kind, limits, file.width, file.height))
    return [text for text in found if text]


def _out_of(kind: str, unit: str, value: N | None, bounds: tuple[N, N | None] | None) -> str:
    """What to say of a figure outside its bounds; empty when there is nothing to say."""
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
    # 1080 x 566 is what 1.91:1 comes to in whole pixels.
    half_a_pixel = 0.5 / height
    if low - half_a_pixel <= width / height <= high + half_a_pixel:
        return ""
    return f"{kind}s between {low:g}:1 and {high:g}:1, this one is {width} x {height}"
