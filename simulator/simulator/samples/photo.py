"""Draws sample photos of any size in the formats that Pillow writes."""

from functools import lru_cache
from io import BytesIO

from PIL import ExifTags, Image, ImageDraw

#: File name ending -> Pillow's name of the format.
FORMATS = {
    "jpg": "JPEG",
    "jpeg": "JPEG",
    "png": "PNG",
    "webp": "WEBP",
    "gif": "GIF",
    "bmp": "BMP",
    "tiff": "TIFF",
}

#: Longest side in pixels. Our choice: such a picture takes one or two seconds.
MAX_SIDE = 4096


@lru_cache(maxsize=32)
def draw(width: int, height: int, ending: str) -> bytes:
    """Returns a picture of a sunrise over hills, with its width and height written on it. `ending` is a key of
    `FORMATS`.
    """
    sky = Image.linear_gradient("L").resize((width, height))
    picture = Image.merge("RGB", (sky.point(lambda v: 255 - v // 3), sky, sky.point(lambda v: 200 - v // 2)))
    pen = ImageDraw.Draw(picture)
    radius = min(width, height) // 6
    middle = (width // 2, height // 2)
    pen.ellipse(
        (middle[0] - radius, middle[1] - radius, middle[0] + radius, middle[1] + radius), fill="#ffe28a"
    )
    pen.ellipse((-width // 2, height * 2 // 3, width * 2 // 3, height * 2), fill="#2f6f4f")
    pen.ellipse((width // 3, height * 3 // 4, width * 3 // 2, height * 2), fill="#3f8f5f")
    pen.text((width // 20, height // 20), f"{width} x {height}", fill="white")
    out = BytesIO()
    picture.save(out, FORMATS[ending])
    return out.getvalue()


@lru_cache(maxsize=8)
def located(width: int, height: int) -> bytes:
    """Returns the picture of `draw` as a JPEG with a place in its EXIF data: 52°31' N, 13°24' E."""
    exif = Image.Exif()
    exif[ExifTags.Base.Make] = "Posthaste"
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(
        {
            ExifTags.GPS.GPSLatitudeRef: "N",
            ExifTags.GPS.GPSLatitude: (52.0, 31.0, 0.0),
            ExifTags.GPS.GPSLongitudeRef: "E",
            ExifTags.GPS.GPSLongitude: (13.0, 24.0, 0.0),
        }
    )
    out = BytesIO()
    with Image.open(BytesIO(draw(width, height, "jpg"))) as picture:
        picture.save(out, "JPEG", exif=exif)
    return out.getvalue()


def padded(data: bytes, size_bytes: int) -> bytes:
    """Returns the picture, enlarged to `size_bytes` by zeros at its end, which decoders ignore."""
    return data + bytes(max(0, size_bytes - len(data)))
