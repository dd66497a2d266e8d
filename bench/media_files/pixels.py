"""Compares images and videos by what they show. Strangers' bytes are read in the sandbox."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from media.decoder.images import opened

__all__ = ["pixels"]

#: A copy of all pixels of the largest image would not fit the memory.
_STRIP_ROWS = 256


def pixels(argument: dict[str, Any], files: Sequence[int]) -> str:
    """Returns a hash of the pixels of all frames of the image `files[0]`. Of a JPEG file with several images it looks
    at the first, as viewers do. Raises Refused if Pillow cannot decode it. Runs in a process of the sandbox.
    """
    found = hashlib.sha256()
    with opened(files[0], argument["mime_type"]) as image:
        count = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
        for number in range(count):
            image.seek(number)
            _add_frame(image, found.update)
    return found.hexdigest()


def _add_frame(image: Image.Image, add: Callable[[bytes], None]) -> None:
    image.load()
    colours = image.getpalette() if image.mode == "P" else None
    add(repr((image.mode, image.size, colours, image.info.get("transparency"))).encode())
    for top in range(0, image.height, _STRIP_ROWS):
        add(image.crop((0, top, image.width, min(top + _STRIP_ROWS, image.height))).tobytes())
