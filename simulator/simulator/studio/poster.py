"""Draws pictures: the prompt laid out as a poster, or written across a given picture.

A picture has a few flat colours and is hardly compressed. So drawing 1024 × 1024 pixels takes less than 50 ms, because
200 callers at once share two cores.
"""

import colorsys
import hashlib
import textwrap
import threading
from functools import lru_cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont, ImageOps

Colour = tuple[int, int, int]

#: Pictures drawn at the same time: more would take memory and save no time.
_PLACES = threading.Semaphore(4)
#: A letter is about this wide for each pixel of the font's size, and a line this high.
_LETTER, _LINE = 0.56, 1.25
_SMALLEST_FONT = 9
#: Pictures after the first are set in this small: a quarter of the shorter side.
_INSET = 4


def draw(prompt: str, width: int, height: int, pictures: tuple[bytes, ...] = (), kind: str = "PNG") -> bytes:
    """Returns a picture of width × height pixels as PNG, JPEG or WEBP. `pictures` must be readable by `inspection`."""
    prompt = prompt.encode("utf-8", "replace").decode()  # a lone surrogate cannot be drawn
    return (
        _encoded(prompt, width, height, pictures, kind) if pictures else _poster(prompt, width, height, kind)
    )


@lru_cache(maxsize=64)
def _poster(prompt: str, width: int, height: int, kind: str) -> bytes:
    return _encoded(prompt, width, height, (), kind)


def _encoded(prompt: str, width: int, height: int, pictures: tuple[bytes, ...], kind: str) -> bytes:
    out = BytesIO()
    with _PLACES:
        picture = canvas(prompt, width, height, pictures)
        picture.save(out, kind, **({"compress_level": 1} if kind == "PNG" else {"quality": 85}))
    return out.getvalue()


def canvas(prompt: str, width: int, height: int, pictures: tuple[bytes, ...] = ()) -> Image.Image:
    """Returns the picture before it is encoded."""
    if pictures:
        return _retouched(prompt, width, height, pictures)
    seed = hashlib.sha256(prompt.encode()).digest()
    paper, ink, *accents = _palette(seed[0])
    picture = Image.new("RGB", (width, height), paper)
    pen = ImageDraw.Draw(picture)
    for number, colour in enumerate(accents):
        place, size = seed[1 + 3 * number : 3 + 3 * number], seed[3 + 3 * number]
        radius = min(width, height) * (100 + size) // 700
        left, top = width * place[0] // 255 - radius, height * place[1] // 255 - radius
        pen.ellipse((left, top, left + 2 * radius, top + 2 * radius), fill=colour)
    margin = min(width, height) // 16
    pen.rectangle((margin, margin, width - margin, height - margin), outline=ink, width=max(2, margin // 12))
    _write(pen, prompt, (2 * margin, 2 * margin, width - 2 * margin, height - 2 * margin), ink)
    return picture


def _palette(number: int) -> list[Colour]:
    """Returns a light colour for the paper, a dark one for the ink and three accents, all around one hue."""
    hue = number / 256

    def colour(turn: float, lightness: float, saturation: float) -> Colour:
        red, green, blue = colorsys.hls_to_rgb((hue + turn) % 1, lightness, saturation)
        return round(red * 255), round(green * 255), round(blue * 255)

    return [
        colour(0, 0.93, 0.5), colour(0.5, 0.15, 0.6),
        colour(0.05, 0.8, 0.7), colour(0.45, 0.82, 0.6), colour(0.9, 0.75, 0.7),
    ]  # fmt: skip


def _retouched(prompt: str, width: int, height: int, pictures: tuple[bytes, ...]) -> Image.Image:
    picture = _fitted(pictures[0], width, height)
    side = min(width, height) // _INSET
    for number, other in enumerate(pictures[1:]):
        picture.paste(_fitted(other, side, side), (side // 8 + number * (side + side // 8), side // 8))
    top = height * 3 // 4
    band = picture.crop((0, top, width, height))
    picture.paste(Image.blend(band, Image.new("RGB", band.size, (16, 16, 24)), 0.7), (0, top))
    margin = height // 40
    _write(
        ImageDraw.Draw(picture), prompt, (margin, top + margin, width - margin, height - margin), (255,) * 3
    )
    return picture


def _fitted(data: bytes, width: int, height: int) -> Image.Image:
    """Returns the middle of a picture, scaled to fill the given size."""
    with Image.open(BytesIO(data)) as picture:
        picture.draft("RGB", (width, height))  # a JPEG is read at a fraction of its size
        upright = ImageOps.exif_transpose(picture)
        return ImageOps.fit(upright.convert("RGB"), (width, height), Image.Resampling.BILINEAR)


def _write(pen: ImageDraw.ImageDraw, text: str, box: tuple[int, int, int, int], ink: Colour) -> None:
    """Writes the text as large as it fits into the box, from the top left corner of the box."""
    left, top, right, bottom = box
    size = max(_SMALLEST_FONT, (bottom - top) // 5)
    while True:
        lines = textwrap.wrap(text, max(1, int((right - left) / (size * _LETTER))))
        if len(lines) * size * _LINE <= bottom - top or size <= _SMALLEST_FONT:
            break
        size = max(_SMALLEST_FONT, size * 5 // 6)
    for number, line in enumerate(lines[: int((bottom - top) / (size * _LINE))]):
        pen.text((left, top + number * size * _LINE), line, font=_font(size), fill=ink)


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Returns the system's DejaVu, which has most scripts. If it is not installed, returns Pillow's own font, which
    has Latin letters only.
    """
    try:
        return ImageFont.truetype("DejaVuSans.ttf", size, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return ImageFont.load_default(size)
