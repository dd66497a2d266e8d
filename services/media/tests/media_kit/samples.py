"""Sample files of the seven types, small, and built by hand where that shows what is in them."""

import io
import struct
from typing import Any

from PIL import Image, PngImagePlugin

from media.decoder.formats import mp4, webm
from media.decoder.formats.ranges import RangeReader

#: A location, as texts and as EXIF contain it. No stored file may contain either.
PLACE = "+48.8584+002.2945/"
GPS = {1: "N", 2: (48.0, 51.0, 30.24), 3: "E", 4: (2.0, 17.0, 40.2)}
XMP = (
    '<?xpacket begin=""?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description exif:GPSLatitude="48,51.504N" '
    f'place="{PLACE}"/></x:xmpmeta><?xpacket end="w"?>'
).encode()
ENDINGS = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "webm",
}
_PILLOW = {"image/jpeg": "JPEG", "image/png": "PNG", "image/gif": "GIF", "image/webp": "WEBP"}


def tells_place(data: bytes) -> bool:
    """Whether the bytes contain the location in any of the ways it was put in."""
    seconds = struct.pack("<II", 3024, 100), struct.pack(">II", 3024, 100), struct.pack("<II", 756, 25)
    return any(
        it in data for it in (b"48.8584", b"48,51.504", b"GPSL", *seconds, struct.pack(">II", 756, 25))
    )


def picture(mime_type: str = "image/jpeg", size: tuple[int, int] = (40, 30), **options: Any) -> bytes:
    """Returns an image with something in it; `options` are Pillow's."""
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    file = io.BytesIO()
    image.save(file, _PILLOW[mime_type], **options)
    return file.getvalue()


def animation(mime_type: str, frames: int = 3) -> bytes:
    file = io.BytesIO()
    images = [Image.new("RGB", (20, 10), (60 * n, 0, 0)) for n in range(frames)]
    images[0].save(file, _PILLOW[mime_type], save_all=True, append_images=images[1:], duration=100)
    return file.getvalue()


def placed(mime_type: str, orientation: int | None = None, size: tuple[int, int] = (40, 30)) -> bytes:
    """Returns an image with a location: in EXIF, and in XMP or comments where the format has them."""
    exif = Image.Exif()
    exif[0x8825] = GPS
    exif[0x010F] = "Camera"
    if orientation:
        exif[0x0112] = orientation
    if mime_type == "image/png":
        texts = PngImagePlugin.PngInfo()
        texts.add_itxt("XML:com.adobe.xmp", XMP.decode())
        texts.add_text("Location", PLACE, zip=False)
        return picture(mime_type, size, exif=exif, pnginfo=texts)
    if mime_type == "image/gif":
        return picture(mime_type, size, comment=PLACE.encode())
    more = {"comment": PLACE} if mime_type == "image/jpeg" else {}
    return picture(mime_type, size, exif=exif, xmp=XMP, **more)


def box(kind: bytes, *contents: bytes) -> bytes:
    body = b"".join(contents)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _track(
    handler: bytes,
    entry: bytes,
    size: tuple[int, int],
    turned: bool,
    samples: tuple[int, int],
    lasts: int = 2500,
) -> bytes:
    unit = 0x10000
    matrix = (
        (0, unit, 0, -unit, 0, 0, 0, 0, 0x40000000) if turned else (unit, 0, 0, 0, unit, 0, 0, 0, 0x40000000)
    )
    offset, length = samples
    return b"".join(
        (
            box(
                b"tkhd",
                bytes(40),
                struct.pack(">9i", *matrix),
                struct.pack(">II", *(it << 16 for it in size)),
            ),
            box(
                b"mdia",
                box(b"mdhd", bytes(12), struct.pack(">II", 1000, lasts), bytes(4)),
                box(b"hdlr", bytes(8), handler, bytes(13)),
                box(
                    b"minf",
                    box(b"dinf", box(b"dref", bytes(4), struct.pack(">I", 1), box(b"url ", b"\0\0\0\1"))),
                    box(
                        b"stbl",
                        box(b"stsd", bytes(4), struct.pack(">I", 1), entry),
                        box(b"stsz", bytes(4), struct.pack(">III", 0, 1, length)),
                        box(b"stco", bytes(4), struct.pack(">II", 1, offset)),
                        box(b"stsc", bytes(4), struct.pack(">IIII", 1, 1, 1, 1)),
                    ),
                ),
            ),
        )
    )


def film(
    *,
    brand: bytes = b"isom",
    size: tuple[int, int] = (64, 48),
    turned: bool = False,
    in_movie: bytes = b"",
    on_top: bytes = b"",
    camera_track: bool = False,
    moov_first: bool = False,
    lasts: int = 2500,
    mdat: bytes = bytes(range(256)) * 8,
) -> bytes:
    """Returns an MP4 or QuickTime video.

    `in_movie` and `on_top`: further boxes. `camera_track`: adds a track of locations with a sample in mdat. `lasts`:
    milliseconds, 0 where fragments follow.
    """
    head = box(b"ftyp", brand, bytes(4), brand)
    place = PLACE.encode()

    def movie(start: int) -> bytes:
        entry = box(b"avc1", bytes(24), struct.pack(">HH", *size), bytes(50))
        tracks = box(b"trak", _track(b"vide", entry, size, turned, (start, len(mdat)), lasts))
        if camera_track:
            samples = (start + len(mdat), len(place))
            tracks += box(b"trak", _track(b"meta", box(b"gpmd", bytes(8)), (0, 0), False, samples))
        header = box(b"mvhd", bytes(12), struct.pack(">II", 1000, lasts), bytes(80))
        return box(b"moov", header, tracks, in_movie)

    data = box(b"mdat", mdat, place if camera_track else b"")
    if moov_first:
        return head + movie(len(head) + len(movie(0)) + 8) + data + on_top
    return head + data + movie(len(head) + 8) + on_top


def element(kind: int, *contents: bytes, unknown: bool = False) -> bytes:
    """Returns an EBML element; `unknown` leaves its size open."""
    body = b"".join(contents)
    size = b"\x01" + b"\xff" * 7 if unknown else b"\x01" + len(body).to_bytes(7, "big")
    return kind.to_bytes((kind.bit_length() + 7) // 8, "big") + size + body


def recording(
    *,
    tags: bool = False,
    live: bool = False,
    timed: bool = True,
    extra: bytes = b"",
    doctype: bytes = b"webm",
    sizes: bytes = element(0xB0, b"\0\x40") + element(0xBA, b"\x30"),
) -> bytes:
    """Returns a WebM video. `live`: of unknown size, as a browser records it; without duration unless `timed`."""
    video = element(0xE0, sizes)
    words = element(0xAE, element(0xD7, b"\2"), element(0x83, b"\x11"), element(0x536E, PLACE.encode()))
    shown = element(0xAE, element(0xD7, b"\1"), element(0x83, b"\1"), video)
    tracks = element(0x1654AE6B, shown, words if tags else b"")
    lasts = element(0x4489, struct.pack(">d", 2500)) if timed else b""
    info = element(0x1549A966, element(0x2AD7B1, b"\x0f\x42\x40"), lasts)
    tag = element(0x67C8, element(0x45A3, b"LOCATION"), element(0x4487, PLACE.encode()))
    cluster = element(
        0x1F43B675, element(0xE7, b"\0"), element(0xA3, b"\x81\0\0\x80" + bytes(100)), unknown=live
    )
    parts = (
        info,
        tracks,
        element(0x1254C367, element(0x7373, tag)) if tags else b"",
        cluster,
        cluster,
        extra,
    )
    return element(0x1A45DFA3, element(0x4282, doctype)) + element(0x18538067, *parts, unknown=live)


#: Metadata boxes with a location, as cameras write them.
PLACE_BOXES = {
    "udta xyz": box(b"udta", box(b"\xa9xyz", struct.pack(">HH", len(PLACE), 0), PLACE.encode())),
    "udta loci": box(b"udta", box(b"loci", bytes(6), b"Paris\0", PLACE.encode())),
    "meta keys": box(
        b"meta", box(b"keys", b"com.apple.quicktime.location.ISO6709"), box(b"ilst", PLACE.encode())
    ),
    "uuid xmp": box(b"uuid", bytes.fromhex("be7acfcb97a942e89c71999491e3afac"), XMP),
    "free": box(b"free", PLACE.encode()),
}


def good(mime_type: str) -> bytes:
    """Returns an ordinary file of the type."""
    if mime_type == "video/webm":
        return recording()
    if mime_type.startswith("video/"):
        return film(brand=b"qt  " if mime_type == "video/quicktime" else b"isom")
    return picture(mime_type)


def parse_video(data: bytes, mime_type: str = "video/mp4") -> Any:
    """Returns what the headers tell. Raises Refused."""
    file = RangeReader(lambda offset, length: data[offset : offset + length], len(data))
    return webm.parse(file) if mime_type == "video/webm" else mp4.parse(file, mime_type)
