"""The seven formats, read by their structure alone: what a file is, what it holds besides, where it tells a place.

Pure: bytes in, findings out. Pixels are `media.pictures`' business, and that only in a confined process.
"""

from dataclasses import dataclass, field

#: Of all formats: a canvas, and one frame of it. 100 megapixels; a decoded bomb fits the confined memory. Our choice.
MAX_PIXELS = 100_000_000
#: Frames of an animation, and their pixels together. Our choice.
MAX_FRAMES, MAX_ANIMATION_PIXELS = 2_000, 2_000_000_000

Bytes = bytes | memoryview


class Refused(Exception):
    """The bytes are not what they are said to be; the text tells the client why."""


def check_pixels(width: int, height: int) -> None:
    """Raises Refused for a bomb, and for nothing."""
    if not width * height:
        raise Refused("The picture has no size.")
    if width * height > MAX_PIXELS:
        raise Refused(f"The picture has more than {MAX_PIXELS // 1_000_000} megapixels.")


@dataclass
class Picture:
    """A picture taken apart."""

    #: As stored, before any rotation the file asks for.
    width: int = 0
    height: int = 0
    #: EXIF's: 1 upright, 5 to 8 lying.
    orientation: int = 1
    frames: int = 1
    #: The file anew: without places, comments, thumbnails and whatever else is no picture.
    kept: list[Bytes] = field(default_factory=list)
    #: Of what is kept: what is no pixels (colour profiles, palettes), to be looked through as well.
    besides: list[Bytes] = field(default_factory=list)
    #: What is not kept, to be looked through for pages and programs.
    dropped: list[Bytes] = field(default_factory=list)
    #: Something was put in place of what was there.
    replaced: bool = False

    @property
    def changed(self) -> bool:
        return self.replaced or bool(self.dropped)

    @property
    def shown_size(self) -> tuple[int, int]:
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)

    def check_size(self) -> None:
        """Raises Refused for a bomb."""
        check_pixels(self.width, self.height)
        pixels = self.width * self.height
        if self.frames > MAX_FRAMES or (self.frames > 1 and pixels * self.frames > MAX_ANIMATION_PIXELS):
            raise Refused("The animation has too many frames.")


@dataclass(frozen=True)
class Patch:
    """Bytes to write over in a video: `head`, then zeros up to `length`."""

    offset: int
    length: int
    head: bytes = b""


@dataclass
class Video:
    """A video's headers."""

    #: As shown; None where it does not tell.
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    #: Writing these over takes away places and other metadata; nothing moves.
    patches: list[Patch] = field(default_factory=list)
