"""Parsers of four image formats, as lenient as Pillow and browsers. They decide which parts are kept. Pure."""

from dataclasses import dataclass, field

#: Of the canvas and each frame: phones have sensors of 200 megapixels, and 800 MB decoded fit the sandbox's memory.
MAX_PIXELS = 200_000_000
#: Frames of an animation, and their pixels together. Our choice.
MAX_FRAMES, MAX_ANIMATION_PIXELS = 2_000, 2_000_000_000
INCOMPLETE = "The file ends too early: a part of it is missing. Upload the original again."
UNREADABLE = "The file is damaged and cannot be opened. Export it as JPEG or MP4, or upload the original."

Bytes = bytes | memoryview


class Refused(Exception):
    """Raised when the file is not accepted. The text tells a person why, and what to do."""


def check_pixels(width: int, height: int, frames: int = 1) -> None:
    """Raises Refused for an empty image, and for one that would need too much memory or time when it is decoded."""
    pixels = width * height
    if not pixels:
        raise Refused(UNREADABLE)
    if pixels > MAX_PIXELS:
        raise Refused(
            f"The picture has more than {MAX_PIXELS // 1_000_000} megapixels. Make it smaller, and upload that."
        )
    if frames > MAX_FRAMES or (frames > 1 and pixels * frames > MAX_ANIMATION_PIXELS):
        raise Refused("The animation has too many frames. Make it shorter or smaller, or upload it as MP4.")


@dataclass
class ParsedImage:
    """An image file, taken apart: its properties and the parts that are stored."""

    #: 1 upright, 5 to 8 rotated by 90 degrees; 0: EXIF or XMP do not say.
    exif_orientation: int = 0
    xmp_orientation: int = 0
    #: Of an animation; 0 or 1 of a picture.
    frames: int = 0
    #: The parts of the stored file: without locations, comments, thumbnails and anything that is not image data.
    kept: list[Bytes] = field(default_factory=list)
    #: The part of `kept` that is not pixels (colour profiles, palettes); searched for embedded content.
    kept_metadata: list[Bytes] = field(default_factory=list)

    @property
    def orientation(self) -> int:
        return self.exif_orientation or self.xmp_orientation or 1

    def is_all_of(self, data: memoryview) -> bool:
        """Whether the parts to keep are the whole file `data`, so that nothing has to be removed."""
        return b"".join(self.kept) == data
