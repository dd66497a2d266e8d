"""Inspects or converts one image, in a sandboxed process.

Files are open descriptors: the uploaded file, and an empty one for its replacement.
"""

import itertools
import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from media.decoder import embedded_content
from media.decoder.formats import MAX_PIXELS, ParsedImage, Refused, exif, gif, jpeg, png, webp

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
Image.init()

_PARSERS: dict[str, tuple[str, Callable[[memoryview], ParsedImage]]] = {
    "image/jpeg": ("JPEG", jpeg.parse),
    "image/png": ("PNG", png.parse),
    "image/gif": ("GIF", gif.parse),
    "image/webp": ("WEBP", webp.parse),
}
#: The longest side of a JPEG copy. The smaller ones are for images that are too large at every quality. Instagram shows
#: 1,440 pixels. Our choice.
_JPEG_SIDES = (4096, 2048, 1024)
#: EXIF orientation -> the transposition that turns the image upright.
_UPRIGHT = dict(
    enumerate(
        (
            Image.Transpose.FLIP_LEFT_RIGHT,
            Image.Transpose.ROTATE_180,
            Image.Transpose.FLIP_TOP_BOTTOM,
            Image.Transpose.TRANSPOSE,
            Image.Transpose.ROTATE_270,
            Image.Transpose.TRANSVERSE,
            Image.Transpose.ROTATE_90,
        ),
        2,
    )
)
_QUALITIES = (92, 85, 75, 60, 40)


def inspect_image(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Returns the size as displayed, and whether the replacement must be stored; or `refused`."""
    uploaded, replacement = files
    try:
        picture = _parse(uploaded, argument["mime_type"])
        if picture.changed:
            _write(replacement, picture)
            embedded_content.check_metadata(_edges_of(replacement))
        _decode(replacement if picture.changed else uploaded, argument["mime_type"], picture)
    except Refused as refusal:
        return {"refused": str(refusal)}
    width, height = picture.shown_size
    return {"width": width, "height": height, "changed": picture.changed}


def make_jpeg(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Writes the first frame as a JPEG of at most `max_bytes`, upright, on white, into the second file."""
    name, _ = _PARSERS[argument["mime_type"]]
    with os.fdopen(os.dup(files[0]), "rb") as original, Image.open(original, formats=[name]) as opened:
        profile = opened.info.get("icc_profile") if opened.mode in ("RGB", "RGBA") else None
        turned = opened.getexif().get(exif.ORIENTATION, 1)
        flat = _as_rgb(opened)
        # Shrunk first: three copies of the largest accepted image would not fit the memory.
        flat.thumbnail((_JPEG_SIDES[0], _JPEG_SIDES[0]))
        flat = _on_white(flat)
        if turned in _UPRIGHT:
            flat = flat.transpose(_UPRIGHT[turned])
    with os.fdopen(os.dup(files[1]), "w+b") as to:
        for side, quality in itertools.product(_JPEG_SIDES, _QUALITIES):
            flat.thumbnail((side, side))
            to.seek(0)
            to.truncate()
            flat.save(to, "JPEG", quality=quality, optimize=True, icc_profile=profile)
            if to.tell() <= argument["max_bytes"]:
                break
        return {"size_bytes": to.tell()}


def _parse(descriptor: int, mime_type: str) -> ParsedImage:
    _, parse = _PARSERS[mime_type]
    # Unmapped when the process ends.
    data = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    embedded_content.check_type(bytes(data[:16]), mime_type)
    picture = parse(data)
    picture.check_size()
    edges = data[: embedded_content.EDGE_BYTES], data[-embedded_content.EDGE_BYTES :]
    embedded_content.check_metadata([*edges, *picture.dropped, *picture.kept_metadata])
    embedded_content.check_tail(bytes(data[-embedded_content.ZIP_TAIL_BYTES :]))
    return picture


def _edges_of(descriptor: int) -> tuple[bytes, bytes]:
    """Returns the file's first and last bytes."""
    size, edge = os.fstat(descriptor).st_size, embedded_content.EDGE_BYTES
    return os.pread(descriptor, edge, 0), os.pread(descriptor, edge, max(size - edge, 0))


def _write(descriptor: int, picture: ParsedImage) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as to:
        for piece in picture.kept:
            to.write(piece)


def _decode(descriptor: int, mime_type: str, picture: ParsedImage) -> None:
    """Decodes every pixel of the first frame, as a viewer would. Raises Refused."""
    name, _ = _PARSERS[mime_type]
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(os.dup(descriptor), "rb") as file, Image.open(file, formats=[name]) as image:
            size = image.size
            image.draft(None, (1, 1))  # JPEG: decodes all bytes to an eighth of the size
            image.load()
    except MemoryError:
        raise
    except Exception as error:
        raise Refused("The image cannot be read.") from error
    if size != (picture.width, picture.height):
        raise Refused("The image is malformed.")


def _as_rgb(image: Image.Image) -> Image.Image:
    """Returns the image as RGB or RGBA; the same object if it is that already."""
    if image.mode.startswith("I"):  # 16-bit grey
        image = image.point(lambda value: value / 256).convert("L")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white
