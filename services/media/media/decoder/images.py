"""Inspects one image, in a sandboxed process: checks it, removes metadata and decodes its pixels."""

import io
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pi_heif
from PIL import AvifImagePlugin, Image, ImageCms, PngImagePlugin

from media.decoder import embedded_content, formats
from media.decoder.formats import INCOMPLETE, UNREADABLE, Refused, check_pixels, gif, icc, jpeg, png, webp
from media.decoder.formats.exif import ORIENTATION

Image.MAX_IMAGE_PIXELS = formats.MAX_PIXELS
PngImagePlugin.MAX_TEXT_CHUNK = png.MAX_PROFILE_BYTES
Image.init()
# No threads, which the sandbox refuses for AVIF and permits for HEIC, since libde265 does not run without one.
AvifImagePlugin.DEFAULT_MAX_THREADS = 1
pi_heif.options.DECODE_THREADS = 0
pi_heif.register_heif_opener(thumbnails=False)

#: Pillow's names of the formats that are converted to JPEG, and of all.
_CONVERTED = {"image/heic": "HEIF", "image/avif": "AVIF"}
_NAMES = {"image/jpeg": "JPEG", "image/png": "PNG", "image/gif": "GIF", "image/webp": "WEBP", **_CONVERTED}
_PARSE = {"image/jpeg": jpeg.parse, "image/png": png.parse, "image/gif": gif.parse, "image/webp": webp.parse}
_T = Image.Transpose
_FLIPS = _T.FLIP_LEFT_RIGHT, _T.ROTATE_180, _T.FLIP_TOP_BOTTOM
_TURNS = _T.TRANSPOSE, _T.ROTATE_270, _T.TRANSVERSE, _T.ROTATE_90
#: EXIF orientation, from 2 on -> the transposition that turns the image upright.
_TO_UPRIGHT = dict(enumerate(_FLIPS + _TURNS, 2))
#: Of all JPEGs made here: above it files grow and nobody sees a difference. Our choice.
BEST_QUALITY = 92
_STRIP_ROWS = 256
_SRGB = ImageCms.createProfile("sRGB")
#: Small images are decoded in full size: libjpeg cannot make lossless JPEGs smaller.
_DECODED_WHOLE_PIXELS = 1_000_000


def inspect_image(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Checks the image `files[0]`, an open descriptor. If it may not be stored as it is, writes a changed one into
    `files[1]`. Returns `mime_type` to store, `width` and `height` as displayed, and `changed`: whether the second file
    was written. For an image that is not accepted returns only `refused`, the reason.
    """
    (uploaded, replacement), mime_type = files, argument["mime_type"]
    try:
        if mime_type in _CONVERTED:
            width, height = _convert(uploaded, mime_type, replacement)
            return {"mime_type": "image/jpeg", "width": width, "height": height, "changed": True}
        orientation, frames, changed = _strip(uploaded, mime_type, replacement)
        width, height = _decode(replacement if changed else uploaded, mime_type, frames)
    except Refused as refusal:
        return {"refused": str(refusal)}
    if orientation >= 5:
        width, height = height, width
    return {"mime_type": mime_type, "width": width, "height": height, "changed": changed}


def _strip(descriptor: int, mime_type: str, replacement: int) -> tuple[int, int, bool]:
    """Writes the image without metadata into `replacement`, if it has any. Returns the orientation, the number of
    frames, and whether it wrote.
    """
    # Unmapped at the end: a large file and its pixels together would not fit the memory.
    data = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    picture = _PARSE[mime_type](data)
    changed = not picture.is_all_of(data)
    if changed:
        with os.fdopen(os.dup(replacement), "wb") as to:
            to.writelines(picture.kept)
    embedded_content.check(replacement if changed else descriptor, picture.kept_metadata)
    return picture.orientation, picture.frames, changed


@contextmanager
def opened(descriptor: int, mime_type: str) -> Iterator[Image.Image]:
    """Yields the image in a file, opened by Pillow. Turns errors of the block into Refused, except MemoryError."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        # By the format's plugin itself: `Image.open` knows HEIC and AVIF by their main brand alone.
        opener = Image.OPEN[_NAMES[mime_type]][0]
        with os.fdopen(os.dup(descriptor), "rb") as file, opener(file, "") as image:
            check_pixels(*image.size)
            yield image
    except (MemoryError, Refused):
        raise
    except Exception as error:
        raise Refused(INCOMPLETE if "truncated" in str(error) else UNREADABLE) from error


def _decode(descriptor: int, mime_type: str, frames: int) -> tuple[int, int]:
    """Decodes the first frame, to see whether it is complete. Returns its width and height, or raises Refused."""
    with opened(descriptor, mime_type) as image:
        size = image.size
        check_pixels(*size, frames)
        if size[0] * size[1] > _DECODED_WHOLE_PIXELS:
            image.draft(None, (1, 1))  # JPEG: decodes all bytes to an eighth of the size
        image.load()
        return size


def _convert(descriptor: int, mime_type: str, replacement: int) -> tuple[int, int]:
    with opened(descriptor, mime_type) as image:
        if getattr(image, "is_animated", False) and mime_type == "image/avif":
            raise Refused("Animated AVIF files are not accepted. Export the animation as GIF, WebP or MP4.")
        flat, profile = upright(image)
    with os.fdopen(os.dup(replacement), "wb") as to:
        flat.save(to, "JPEG", quality=BEST_QUALITY, icc_profile=profile and icc.blanked(profile))
    return flat.size


def to_srgb(profile: bytes) -> ImageCms.ImageCmsTransform | None:
    """Returns the conversion of colours with this profile to sRGB; None if the profile cannot be read."""
    with suppress(ImageCms.PyCMSError):
        mode = {b"GRAY": "L", b"CMYK": "CMYK"}.get(profile[16:20], "RGB")
        return ImageCms.buildTransform(io.BytesIO(profile), _SRGB, mode, "RGB")
    return None


def upright(image: Image.Image, longest_side: int | None = None) -> tuple[Image.Image, bytes | None]:
    """Returns the first frame as RGB on white, upright, and its colour profile. Grey and CMYK are converted to sRGB by
    theirs, and have none then. With `longest_side`, reduces a larger image by a whole factor, so that its longer side
    has at least that many pixels, but fewer than twice as many.
    """
    width, height = image.size
    factor = max(max(image.size) // longest_side, 1) if longest_side else 1
    turned = image.getexif().get(ORIENTATION, 1)
    image.load()
    profile, colours = image.info.get("icc_profile"), None
    if image.mode not in ("RGB", "RGBA", "P"):
        profile, colours = None, to_srgb(profile or b"")
    if image.mode == "RGB" and factor == 1:
        flat = image
    else:
        flat = Image.new("RGB", (-(-width // factor), -(-height // factor)))
        # In strips, since a second copy of the largest accepted image would not fit the memory.
        for top in range(0, height, _STRIP_ROWS * factor):
            strip = image.crop((0, top, width, min(top + _STRIP_ROWS * factor, height)))
            flat.paste(_on_white(strip, colours).reduce(factor), (0, top // factor))
    return flat.transpose(_TO_UPRIGHT[turned]) if turned in _TO_UPRIGHT else flat, profile


def _on_white(image: Image.Image, colours: ImageCms.ImageCmsTransform | None) -> Image.Image:
    if image.mode.startswith("I"):  # 16-bit grey
        image = image.point(lambda value: value / 256).convert("L")
    flat = colours.apply(image.convert(colours.input_mode)) if colours else image.convert("RGB")
    if image.has_transparency_data:
        shown, flat = flat, Image.new("RGB", image.size, "white")
        flat.paste(shown, mask=image.convert("RGBA").getchannel("A"))
    return flat
