"""Draws pictures: the prompt as a poster, or the prompt written across a given picture.

A picture has a few flat colours and little compression, so that 1024 × 1024 pixels take less than 50 ms: in load tests
200 callers share two cores.
"""

import colorsys
import hashlib
import textwrap
import threading
from functools import lru_cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont, ImageOps

Colour = tuple[int, int, int]

#: Number of pictures drawn at the same time. Our choice: more would take memory and save no time.
_PLACES = threading.Semaphore(4)
#: Estimated width of a letter and height of a line, per pixel of the font size.
_LETTER, _LINE = 0.56, 1.25
_SMALLEST_FONT = 9
#: The other given pictures are drawn with this fraction of the shorter side: a quarter.
_INSET = 4


def draw(prompt: str, width: int, height: int, pictures: tuple[bytes, ...] = (), kind: str = "PNG") -> bytes:
    """Returns an encoded picture of the prompt, of width × height pixels; `kind` is PNG, JPEG or WEBP. `pictures` are
    those of the request: the first becomes the background, the others appear on it in small size.
    """
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
    """Returns the picture of `draw` before it is encoded."""
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
    """Returns five colours that match the hue `number` (0 to 255): a light background, a dark text colour and three
    accents.
    """
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
    """Returns the middle of an encoded picture, scaled to the given size."""
    with Image.open(BytesIO(data)) as picture:
        picture.draft("RGB", (width, height))  # a JPEG is read at a fraction of its size
        upright = ImageOps.exif_transpose(picture)
        return ImageOps.fit(upright.convert("RGB"), (width, height), Image.Resampling.BILINEAR)


def _write(pen: ImageDraw.ImageDraw, text: str, box: tuple[int, int, int, int], ink: Colour) -> None:
    """Writes the text as large as it fits into the box (left, top, right, bottom). Cuts off what does not fit at the
    smallest font size.
    """
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
    """Returns the font DejaVu Sans of the system, which has most scripts. If it is not installed, returns Pillow's own
    font, which has Latin letters only.
    """
    try:
        return ImageFont.truetype("DejaVuSans.ttf", size, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return ImageFont.load_default(size)
