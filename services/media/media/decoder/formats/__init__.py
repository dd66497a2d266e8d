"""Parsers of the four image formats, by structure alone: the type, the metadata, and what is hidden. Pure.

`decoder/images.py` decodes pixels.
"""

from dataclasses import dataclass, field

#: For the canvas and each frame of any format: 100 megapixels fit the sandbox's memory. Our choice.
MAX_PIXELS = 100_000_000
#: Frames of an animation, and their pixels together. Our choice.
MAX_FRAMES, MAX_ANIMATION_PIXELS = 2_000, 2_000_000_000

Bytes = bytes | memoryview


class Refused(Exception):
    """The file is not what it is declared to be. The text tells the client why."""


def check_pixels(width: int, height: int) -> None:
    """Raises Refused for an empty image or one with too many pixels."""
    if not width * height:
        raise Refused("The image has no width or height.")
    if width * height > MAX_PIXELS:
        raise Refused(f"The image has more than {MAX_PIXELS // 1_000_000} megapixels.")


@dataclass
class ParsedImage:
    """The parts of an image file."""

    #: As stored, before the rotation that EXIF asks for.
    width: int = 0
    height: int = 0
    #: EXIF: 1 upright, 5 to 8 rotated by 90 degrees.
    orientation: int = 1
    frames: int = 1
    #: The parts of the stored file: without locations, comments, thumbnails and anything that is not image data.
    kept: list[Bytes] = field(default_factory=list)
    #: The part of `kept` that is not pixels (colour profiles, palettes); searched for embedded content.
    kept_metadata: list[Bytes] = field(default_factory=list)
    #: The parts that are left out; searched for embedded content as well.
    dropped: list[Bytes] = field(default_factory=list)
    #: Something was replaced by a shorter form.
    replaced: bool = False

    @property
    def changed(self) -> bool:
        return self.replaced or bool(self.dropped)

    @property
    def shown_size(self) -> tuple[int, int]:
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)

    def check_size(self) -> None:
        """Raises Refused for a decompression bomb."""
        check_pixels(self.width, self.height)
        pixels = self.width * self.height
        if self.frames > MAX_FRAMES or (self.frames > 1 and pixels * self.frames > MAX_ANIMATION_PIXELS):
            raise Refused("The animation has too many frames.")
