"""Makes the rendition of an image, in a sandboxed process: a JPEG, scaled, upright, on white, of limited size."""

import os
from collections.abc import Sequence
from typing import IO, Any

from PIL import Image

from contracts.renditions import LONGEST_SIDE
from media.decoder.images import BEST_QUALITY, opened, to_srgb, upright

#: A picture whose size in bytes asks for less quality is made smaller instead: below it blocks are seen. Our choice.
_LEAST_QUALITY = 60
#: The search ends at a size within this part of the limit: a better quality would differ by one or two. Our choice.
_NEAR = 0.93
#: The factor by which both sides shrink each time. Our choice: it takes a third of the pixels, so few tries are needed.
_SMALLER = 0.8
#: Up to this size an image is reduced to twice the wanted sides or more before Lanczos; beyond it memory is too small.
_FINE_PIXELS = 60_000_000


def make_picture(argument: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
    """Writes the first frame of the image `files[0]` as a JPEG into `files[1]`. Returns the JPEG's width and height.
    `argument` has the image's `mime_type`, and the JPEG's `max_bytes`, `width` and `height` (as displayed; None: the
    image's own, at most LONGEST_SIDE). A JPEG that would not fit `max_bytes` is made smaller.
    """
    with opened(files[0], argument["mime_type"]) as image:
        width, height = argument["width"], argument["height"]
        longest = max(width, height) if width and height else LONGEST_SIDE
        is_fine = image.width * image.height <= _FINE_PIXELS
        image.draft(None, (2 * longest, 2 * longest))  # JPEG: a half, a quarter or an eighth is faster
        flat, profile = upright(image, 2 * longest if is_fine else longest)
    if width and height and flat.size != (width, height):
        flat = flat.resize((width, height), Image.Resampling.LANCZOS)
    elif max(flat.size) > longest:
        flat.thumbnail((longest, longest), Image.Resampling.LANCZOS, reducing_gap=None)
    if profile and len(profile) > argument["max_bytes"] // 4:  # it would leave too little room
        colours, profile = to_srgb(profile), None
        flat = colours.apply(flat) if colours else flat
    with os.fdopen(os.dup(files[1]), "w+b") as to:
        while not _save(flat, to, argument["max_bytes"], profile) and min(flat.size) > 1:
            flat = flat.resize([max(1, int(side * _SMALLER)) for side in flat.size], Image.Resampling.LANCZOS)
    return {"width": flat.width, "height": flat.height}


def _save(image: Image.Image, to: IO[bytes], max_bytes: int, profile: bytes | None) -> bool:
    """Writes the image as a JPEG in about the best quality that fits `max_bytes`. Returns False if none does."""

    def size_at(quality: int) -> int:
        to.seek(0)
        to.truncate()
        image.save(to, "JPEG", quality=quality, icc_profile=profile)
        return to.tell()

    if size_at(BEST_QUALITY) <= max_bytes:
        return True
    fits, too_large = _LEAST_QUALITY, BEST_QUALITY
    if (size := size_at(fits)) > max_bytes:
        return False
    while too_large - fits > 1 and size < _NEAR * max_bytes:
        tried = (fits + too_large) // 2
        if (made := size_at(tried)) <= max_bytes:
            fits, size = tried, made
        else:
            too_large = tried
    if to.tell() != size:  # the last one tried was too large
        size_at(fits)
    return True
