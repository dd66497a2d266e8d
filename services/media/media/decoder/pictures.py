"""Strangers' pictures, decoded: runs in a confined process alone (`chassis.sandbox.pool`), one picture each.

Files come as open descriptors: what was uploaded, and an empty one for what is to be stored instead.
"""

import itertools
import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from media.decoder import embedded_content
from media.decoder.formats import MAX_PIXELS, Picture, Refused, exif, gif, jpeg, png, webp

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
Image.init()

_LOOKS: dict[str, tuple[str, Callable[[memoryview], Picture]]] = {
    "image/jpeg": ("JPEG", jpeg.look),
    "image/png": ("PNG", png.look),
    "image/gif": ("GIF", gif.look),
    "image/webp": ("WEBP", webp.look),
}
#: Of a JPEG that is made; smaller ones are for what fits in no quality. Instagram shows 1,440 pixels. Our choice.
_JPEG_SIDES = (4096, 2048, 1024)
#: EXIF's orientation -> what sets it upright.
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


def inspect(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Is it the picture it is said to be? Its size as shown, and whether the second file replaces it; or `refused`."""
    uploaded, instead = files
    try:
        picture = _take_apart(uploaded, argument["mime_type"])
        if picture.changed:
            _write(instead, picture)
            embedded_content.check_metadata(_edges_of(instead))
        _decode(instead if picture.changed else uploaded, argument["mime_type"], picture)
    except Refused as refusal:
        return {"refused": str(refusal)}
    width, height = picture.shown_size
    return {"width": width, "height": height, "changed": picture.changed}


def make_jpeg(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """The first frame as JPEG of at most `max_bytes`, upright, on white; into the second file."""
    name, _ = _LOOKS[argument["mime_type"]]
    with os.fdopen(os.dup(files[0]), "rb") as original, Image.open(original, formats=[name]) as opened:
        profile = opened.info.get("icc_profile") if opened.mode in ("RGB", "RGBA") else None
        turned = opened.getexif().get(exif.ORIENTATION, 1)
        flat = _plain(opened)
        # Small first: three copies of the largest picture taken would not fit the memory.
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


def _take_apart(descriptor: int, mime_type: str) -> Picture:
    _, look = _LOOKS[mime_type]
    # Ends with the process.
    data = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    embedded_content.check_type(bytes(data[:16]), mime_type)
    picture = look(data)
    picture.check_size()
    edges = data[: embedded_content.EDGE_BYTES], data[-embedded_content.EDGE_BYTES :]
    embedded_content.check_metadata([*edges, *picture.dropped, *picture.besides])
    embedded_content.check_tail(bytes(data[-embedded_content.ZIP_TAIL_BYTES :]))
    return picture


def _edges_of(descriptor: int) -> tuple[bytes, bytes]:
    """What stands at the edges once the rest is left out."""
    size, edge = os.fstat(descriptor).st_size, embedded_content.EDGE_BYTES
    return os.pread(descriptor, edge, 0), os.pread(descriptor, edge, max(size - edge, 0))


def _write(descriptor: int, picture: Picture) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as to:
        for piece in picture.kept:
            to.write(piece)


def _decode(descriptor: int, mime_type: str, picture: Picture) -> None:
    """Every pixel of the first frame, the way a viewer would. Raises Refused."""
    name, _ = _LOOKS[mime_type]
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(os.dup(descriptor), "rb") as file, Image.open(file, formats=[name]) as image:
            size = image.size
            image.draft(None, (1, 1))  # JPEG: an eighth of the size, from all of the bytes
            image.load()
    except MemoryError:
        raise
    except Exception as error:
        raise Refused("The picture cannot be read.") from error
    if size != (picture.width, picture.height):
        raise Refused("The picture is malformed.")


def _plain(image: Image.Image) -> Image.Image:
    """RGB or RGBA; the very same picture, if it is that already."""
    if image.mode.startswith("I"):  # 16 bits of grey
        image = image.point(lambda value: value / 256).convert("L")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white
