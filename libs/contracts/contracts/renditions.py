"""Decides how a file must be converted so that a platform takes it. Pure.

A file may be scaled, compressed or changed into another type. It is never cropped.

The service `publishing` tells the user what will be converted, and the service `media` makes the rendition: both use
these functions. What no conversion can change (shape, length) is checked in `platforms/limits.py` of the service
`publishing`.
"""

import math

from msgspec import structs

from contracts.platforms import GIF, JPEG, MP4, PLATFORMS, WEBM, FileLimits
from contracts.record import Record

#: No picture that is encoded anew is larger. X shows 4,096 pixels, the other platforms fewer (docs/platforms.md).
LONGEST_SIDE = 4_096
#: Where neither the platform nor the file gives a figure. Our choice: the largest file of the largest plan.
_MAX_BYTES = 250 * 2**20
#: Codecs that players expect in an MP4.
_IN_MP4 = ("h264", "hevc")
_USUAL_FRAME_RATE = 30.0
#: No video of this size becomes smaller than a platform's least size when it is encoded anew. Our choice.
_MUCH_LARGER = 16


class FileFacts(Record):
    """The type, size and codecs of a file. None means that a fact is unknown: it is not compared with any limit."""

    #: photo or video
    type: str
    mime_type: str | None = None
    size_bytes: int | None = None
    #: Pixels as displayed.
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    #: Frames a second, if constant.
    frame_rate: float | None = None
    #: ffmpeg's name of the codec of a video's pictures: h264, hevc, vp9 and so on.
    video_codec: str | None = None
    #: ffmpeg's name of the codec of its sound (`contracts.media.Media`); "none": without sound.
    audio_codec: str | None = None


class Need(Record):
    """What a rendition must be: type, size in pixels, most bytes. Platforms with equal needs share one rendition."""

    mime_type: str
    #: Bounds of the size, inclusive.
    max_bytes: int
    min_bytes: int = 1
    #: The size as displayed, in pixels. A picture may have to be smaller to fit `max_bytes`. None: as the file is
    #: (H.264 takes even sides only).
    width: int | None = None
    height: int | None = None
    #: Of a video, frames a second; None: as the file has them.
    frame_rate: float | None = None
    #: Of a video: codecs of pictures that need not be encoded anew if size and frame rate may stay.
    video_codecs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Returns a text that identifies this need: two needs have the same key only if they are equal."""
        parts = (
            self.mime_type,
            f"{self.min_bytes}-{self.max_bytes}",
            f"{self.width}x{self.height}",
            self.frame_rate,
            "+".join(self.video_codecs),
        )
        return " ".join(str(part) for part in parts if part)


def limits_of(platform_code: str, file: FileFacts) -> FileLimits | None:
    """Returns the platform's limits for such a file; None if the platform takes no files of this kind."""
    table = PLATFORMS[platform_code].files
    return table.get("gif" if "gif" in table and file.mime_type == GIF else file.type)


def need_of(platform_code: str, file: FileFacts) -> Need | None:
    """Returns what the file's rendition for the platform must be. Returns None if the platform takes the file as it is,
    or takes no files of this kind at all."""
    limits = limits_of(platform_code, file)
    if limits is None:
        return None
    if file.type == "video":
        return _film(limits, file)
    if file.mime_type is not None and file.mime_type not in limits.types:
        return _picture(platform_code, file)
    high = limits.size_bytes[1]
    is_small = file.size_bytes is None or high is None or file.size_bytes <= high
    is_whole = not (file.width and file.height) or fitted(limits, file.width, file.height) == (
        file.width,
        file.height,
    )
    return None if is_small and is_whole else _picture(platform_code, file)


def after(need: Need | None, file: FileFacts) -> FileFacts:
    """Returns the facts of the rendition that `need` makes of a file. If `need` is None, returns the file's own
    facts."""
    if need is None:
        return file
    return structs.replace(
        file,
        mime_type=need.mime_type,
        size_bytes=None,
        width=need.width or file.width,
        height=need.height or file.height,
        frame_rate=need.frame_rate or file.frame_rate,
        video_codec=None,
        audio_codec=None,
    )


def _film(limits: FileLimits, file: FileFacts) -> Need | None:
    low, high = limits.size_bytes
    if limits.bits_a_second and file.size_bytes and file.duration_seconds:
        most = int(limits.bits_a_second / 8 * file.duration_seconds)
        if file.size_bytes > most:  # else platforms share the rendition of a larger bound
            high = min(high or most, most)
    sides = fitted(limits, file.width, file.height) if file.width and file.height else None
    rate = _frame_rate(limits, file.frame_rate)
    is_fit = (
        (file.mime_type is None or file.mime_type in limits.types)
        and (not limits.video_codecs or file.video_codec is None or file.video_codec in limits.video_codecs)
        and (not limits.video_codecs or file.audio_codec is None or file.audio_codec in _usual_sound(file))
        and (file.size_bytes is None or low <= file.size_bytes <= (high or file.size_bytes))
        and sides in (None, (file.width, file.height))
        and rate is None
    )
    if is_fit:
        return None
    if limits.frame_rate and limits.frame_rate[0] > 1 and file.mime_type == WEBM and file.frame_rate is None:
        rate = _USUAL_FRAME_RATE  # a WebM does not tell its rate, which may be too low; too high ones are cut anyway
    is_scaled = sides not in (None, (file.width, file.height))
    kept = limits.video_codecs or _IN_MP4
    if file.video_codec is not None:
        kept = (file.video_codec,) if file.video_codec in kept else ()
    if is_scaled or rate:
        kept = ()  # it is encoded anew, so platforms with different codecs share the rendition
    # Only a small file may become too small; so that platforms share the renditions of the others.
    may_be_small = file.size_bytes is None or file.size_bytes < _MUCH_LARGER * low
    return Need(
        mime_type=MP4,
        min_bytes=low if may_be_small else 1,
        max_bytes=min(high or _MAX_BYTES, _MAX_BYTES),
        width=sides[0] - sides[0] % 2 if is_scaled and sides else None,
        height=sides[1] - sides[1] % 2 if is_scaled and sides else None,
        frame_rate=rate,
        video_codecs=kept,
    )


def _usual_sound(file: FileFacts) -> tuple[str, ...]:
    """Returns the usual audio codecs of this type of video; "none" stands for no sound. Every platform that limits the
    codecs of videos accepts these.
    """
    return ("none", "opus", "vorbis") if file.mime_type == WEBM else ("none", "aac")


def fitted(limits: FileLimits, width: int, height: int) -> tuple[int, int]:
    """Returns the nearest size of the same shape that the platform's limits allow: width and height in pixels."""
    shorter, longer = sorted((width, height))
    scale = min(
        1.0,
        (limits.shortest_side_max or shorter) / shorter,
        (limits.longest_side_max or longer) / longer,
        (limits.width_max or width) / width,
        math.sqrt((limits.pixels or width * height) / (width * height)),
    )
    scale = max(scale, (limits.shortest_side or 0) / shorter)
    if scale == 1.0:
        return width, height
    return _scaled(width, height, scale, limits.pixels)


def _picture(platform_code: str, file: FileFacts) -> Need:
    """Returns the need for a JPEG of this image, in a size that the platform accepts. Every platform that accepts
    images accepts JPEG.
    """
    limits = PLATFORMS[platform_code].files["photo"]
    shown = structs.replace(
        limits, longest_side_max=min(limits.longest_side_max or LONGEST_SIDE, LONGEST_SIDE)
    )
    width, height = file.width, file.height
    if width and height:
        width, height = fitted(shown, width, height)
    return Need(mime_type=JPEG, max_bytes=limits.size_bytes[1] or _MAX_BYTES, width=width, height=height)


def _scaled(width: int, height: int, scale: float, pixels: int | None) -> tuple[int, int]:
    """Returns the width and the height, multiplied by `scale`. Makes both smaller still if the image would have more
    than `pixels` pixels in all; None means no limit. Rounding changes the shape by at most half a pixel.
    """
    shorter, longer = sorted((width, height))
    # A hair more than the product, which may be 1,079.9999 for 1,080.
    small = max(1, int(shorter * scale + 1e-6))
    while pixels is not None and small > 1 and small * round(longer * small / shorter) > pixels:
        small -= 1
    large = round(longer * small / shorter)
    return (small, large) if width <= height else (large, small)


def _frame_rate(limits: FileLimits, rate: float | None) -> float | None:
    """Returns the frame rate that the video must get; None if it may keep its own.

    A rate that is too low is multiplied: frames are repeated.
    """
    if limits.frame_rate is None or rate is None:
        return None
    low, high = limits.frame_rate
    if round(rate) > high:
        return float(high)
    if round(rate) >= low:
        return None
    return min(rate * math.ceil(low / rate), float(high))
