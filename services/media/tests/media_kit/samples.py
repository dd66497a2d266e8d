"""Small sample files of the seven accepted types. Some are built byte by byte, so that a test knows all content."""

import io
import struct
import zlib
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms, PngImagePlugin

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
#: Made with pillow-heif, which encodes.
_HEIC = Path(__file__).parent / "turned.heic"
#: Stands for a colour profile, which nothing here reads.
PROFILE = bytes(range(256)) * 2


def _profile(space: bytes, connection: bytes, tag: bytes, content: bytes) -> bytes:
    """Returns an ICC profile of one tag: `space` is that of the pixels, `connection` that to which it converts them."""
    illuminant = struct.pack(">3I", 0xF6D6, 0x10000, 0xD32D)
    header = bytes(4) + b"\x02\x40\0\0" + (b"prtr" if space == b"CMYK" else b"mntr") + space + connection
    header += bytes(12) + b"acsp" + bytes(28) + illuminant + bytes(48)
    table = struct.pack(">I4sII", 1, tag, 144, len(content))
    return struct.pack(">I", 144 + len(content)) + (header + table + content)


#: Grey whose values are the light itself: 128 of 255 is shown as 188.
LINEAR_GREY_PROFILE = _profile(b"GRAY", b"XYZ ", b"kTRC", b"curv" + bytes(8))


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")


def with_tag(profile: bytes, name: bytes, content: bytes) -> bytes:
    """Returns the ICC profile with one more tag at its end."""
    count = int.from_bytes(profile[128:132], "big")
    tags = struct.iter_unpack(">4sII", profile[132 : 132 + 12 * count])
    table = b"".join(struct.pack(">4sII", tag, at + 12, size) for tag, at, size in tags)
    table += struct.pack(">4sII", name, len(profile) + 12, len(content))
    made = profile[:128] + struct.pack(">I", count + 1) + table + profile[132 + 12 * count :] + content
    return struct.pack(">I", len(made)) + made[4:]


_RAMP, _NO_INK, _RED, _BLACK = bytes(range(256)), b"\xff\x80\x80", b"\x8a\xd1\xc6", b"\0\x80\x80"
_UNCHANGED = struct.pack(">9i", *(0x10000 if place % 4 == 0 else 0 for place in range(9)))
#: CMYK in which the first ink is red instead of cyan. All other inks are black.
RED_INK_PROFILE = _profile(
    b"CMYK", b"Lab ", b"A2B0",
    b"mft1" + bytes(4) + bytes((4, 3, 2, 0)) + _UNCHANGED + _RAMP * 4
    + _NO_INK + _BLACK * 7 + _RED + _BLACK * 7 + _RAMP * 3,
)  # fmt: skip
_PILLOW = {"image/jpeg": "JPEG", "image/png": "PNG", "image/gif": "GIF", "image/webp": "WEBP"}


def tells_place(data: bytes) -> bool:
    """Whether the data contain the samples' location, in text or in EXIF form."""
    seconds = struct.pack("<II", 3024, 100), struct.pack(">II", 3024, 100), struct.pack("<II", 756, 25)
    return any(
        it in data for it in (b"48.8584", b"48,51.504", b"GPSL", *seconds, struct.pack(">II", 756, 25))
    )


def picture(mime_type: str = "image/jpeg", size: tuple[int, int] = (40, 30), **options: Any) -> bytes:
    """Returns an image of a gradient. `options` are those of Pillow's `save`."""
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    file = io.BytesIO()
    image.save(file, _PILLOW[mime_type], **options)
    return file.getvalue()


def with_large_profile() -> bytes:
    """Returns a PNG image of one colour, with a profile of 100 KB in which red and green are exchanged. The image is
    shown as (100, 200, 50).
    """
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    profile = profile.replace(b"rXYZ", b"both", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"both", b"gXYZ", 1)
    file = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 100, 50)).save(file, "PNG", icc_profile=profile + bytes(100_000))
    return file.getvalue()


def is_close(image: Image.Image, colour: tuple[int, int, int]) -> bool:
    """Whether the pixel in the middle has this colour, as far as JPEG keeps it."""
    seen = image.convert("RGB").getpixel((image.width // 2, image.height // 2))
    assert isinstance(seen, tuple)
    return all(abs(one - other) < 6 for one, other in zip(seen, colour, strict=True))


def converted(mime_type: str) -> bytes:
    """Returns the image of `picture` as AVIF or HEIC, with a colour profile and a location.

    The HEIC file also has an orientation that makes viewers turn the image.
    """
    return avif() if mime_type == "image/avif" else _HEIC.read_bytes()


def avif(frames: int = 1, orientation: int = 1) -> bytes:
    """Returns an AVIF image with a location. `orientation` is a value of EXIF's Orientation."""
    exif = Image.Exif()
    exif[0x0112], exif[0x8825] = orientation, GPS
    image, file = Image.open(io.BytesIO(picture("image/png"))), io.BytesIO()
    more = {"save_all": True, "append_images": [image.rotate(180)] * (frames - 1)} if frames > 1 else {}
    image.save(file, "AVIF", quality=95, exif=exif, icc_profile=PROFILE, **more)
    return file.getvalue()


def animation(mime_type: str, frames: int = 3) -> bytes:
    file = io.BytesIO()
    images = [Image.new("RGB", (20, 10), (60 * n, 0, 0)) for n in range(frames)]
    images[0].save(file, _PILLOW[mime_type], save_all=True, append_images=images[1:], duration=100)
    return file.getvalue()


def placed(mime_type: str, orientation: int | None = None, size: tuple[int, int] = (40, 30)) -> bytes:
    """Returns an image with a location in its EXIF data, and in XMP or comments where the format has them."""
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


#: A grey frame of 64 × 48 pixels by x264, and its decoder configuration.
FRAME = bytes.fromhex("000000106588843a26280c9c9c9d75d75d75d75e")
_AVCC = bytes.fromhex("0142c00affe100166742c00adc47b011000003000100000300040f12278001000468ce0fc8")
_UNIT = 0x10000
_UPRIGHT, _TURNED = (
    struct.pack(">9i", *matrix, 0, 0, 0, 0x40000000)
    for matrix in ((_UNIT, 0, 0, 0, _UNIT), (0, _UNIT, 0, -_UNIT, 0))
)
_WITHOUT_PATH = box(b"dinf", box(b"dref", bytes(4), struct.pack(">I", 1), box(b"url ", b"\0\0\0\1")))


def _h264(size: tuple[int, int], *further: bytes) -> bytes:
    configuration = box(b"avcC", _AVCC)
    return box(
        b"avc1", bytes(6), b"\0\1", bytes(16), struct.pack(">HH", *size), bytes(50), configuration, *further
    )


def _locations() -> bytes:
    return box(b"gpmd", bytes(6), b"\0\1")


def _track(
    number: int,
    handler: bytes,
    entry: bytes,
    size: tuple[int, int],
    turned: bool = False,
    samples: tuple[int, int] | None = None,
    lasts: int = 2500,
    references: bytes = _WITHOUT_PATH,
    shown: int = 1,
) -> bytes:
    """Returns a track. `samples`: offset and length of its only sample, which is shown `shown` times.

    `samples` is None if fragments follow.
    """
    count, (offset, length) = 0 if samples is None else shown, samples or (0, 0)
    many, one = struct.pack(">I", count), struct.pack(">I", min(count, 1))
    header = (
        bytes(12), struct.pack(">II", number, 0), struct.pack(">I", lasts), bytes(16),
        _TURNED if turned else _UPRIGHT, struct.pack(">II", *(it << 16 for it in size)),
    )  # fmt: skip
    tables = (
        box(b"stsd", bytes(4), struct.pack(">I", 1), entry),
        box(b"stts", bytes(4), one, struct.pack(">II", count, lasts) * min(count, 1)),
        box(b"stsc", bytes(4), one, struct.pack(">III", 1, 1, 1) * min(count, 1)),
        box(b"stsz", bytes(4), struct.pack(">I", 0), many, struct.pack(">I", length) * count),
        box(b"stco", bytes(4), many, struct.pack(">I", offset) * count),
    )
    media = (
        box(b"mdhd", bytes(12), struct.pack(">II", 1000, lasts), bytes(4)),
        box(b"hdlr", bytes(8), handler, bytes(13)),
        box(b"minf", references, box(b"stbl", *tables)),
    )
    return box(b"trak", box(b"tkhd", *header), box(b"mdia", *media))


def _movie(*tracks: bytes, lasts: int) -> bytes:
    header = (
        bytes(12),
        struct.pack(">II", 1000, lasts),
        struct.pack(">IH", _UNIT, 0x100),
        bytes(10),
        _UPRIGHT,
        bytes(28),
    )
    return box(b"moov", box(b"mvhd", *header), *tracks)


def film(
    *,
    brand: bytes = b"isom",
    size: tuple[int, int] = (64, 48),
    turned: bool = False,
    in_movie: bytes = b"",
    in_entry: bytes = b"",
    on_top: bytes = b"",
    camera_track: bool = False,
    moov_first: bool = False,
    filler_bytes: int = 0,
    references: bytes = _WITHOUT_PATH,
    shown: int = 1,
) -> bytes:
    """Returns an MP4 or QuickTime video of one frame, which lasts 2.5 seconds.

    `in_movie` and `on_top`: further boxes inside and outside the moov box. `in_entry`: a box that describes the frame.
    `camera_track`: adds a track of locations with a sample in mdat. `filler_bytes`: makes the frame larger.
    `references`: where the samples are. `shown`: how often the frame is shown.
    """
    head = box(b"ftyp", brand, bytes(4), brand)
    place, frame = PLACE.encode(), FRAME + _filler(filler_bytes)

    def movie(start: int) -> bytes:
        entry, samples = _h264(size, in_entry), (start, len(frame))
        tracks = _track(1, b"vide", entry, size, turned, samples, references=references, shown=shown)
        if camera_track:
            tracks += _track(2, b"meta", _locations(), (0, 0), samples=(start + len(frame), len(place)))
        return _movie(tracks, in_movie, lasts=2500)

    data = box(b"mdat", frame, place if camera_track else b"")
    if moov_first:
        return head + movie(len(head) + len(movie(0)) + 8) + data + on_top
    return head + data + movie(len(head) + 8) + on_top


def _filler(length: int) -> bytes:
    """Returns a unit of H.264 that decoders skip."""
    return struct.pack(">IB", length - 4, 0x0C) + bytes(length - 5) if length else b""


def fragments(*, lasts: int = 0) -> bytes:
    """Returns a fragmented MP4 video of two frames. Another track has a location for each frame."""
    place = PLACE.encode()
    extends = [box(b"trex", bytes(4), struct.pack(">5I", number, 1, 1250, 0, 0)) for number in (1, 2)]
    movie = _movie(
        _track(1, b"vide", _h264((64, 48)), (64, 48), lasts=lasts),
        _track(2, b"meta", _locations(), (0, 0), lasts=lasts),
        box(b"mvex", *extends),
        lasts=lasts,
    )
    data = box(b"ftyp", b"iso5", bytes(4), b"iso5") + movie
    for number in (0, 1):

        def run(track: int, offset: int, length: int, begins: int) -> bytes:
            header = box(b"tfhd", struct.pack(">II", 0x020000, track))
            time = box(b"tfdt", bytes(4), struct.pack(">I", begins))
            return box(b"traf", header, time, box(b"trun", struct.pack(">IIII", 0x000201, 1, offset, length)))

        def fragment(start: int, begins: int, sequence: int) -> bytes:
            frame, location = (
                run(1, start, len(FRAME), begins),
                run(2, start + len(FRAME), len(place), begins),
            )
            return box(b"moof", box(b"mfhd", bytes(4), struct.pack(">I", sequence)), frame, location)

        length = len(fragment(0, 0, 0))
        data += fragment(length + 8, 1250 * number, number + 1) + box(b"mdat", FRAME, place)
    return data


def element(kind: int, *contents: bytes, unknown: bool = False) -> bytes:
    """Returns an EBML element. With `unknown` it does not state its size."""
    body = b"".join(contents)
    size = b"\x01" + b"\xff" * 7 if unknown else b"\x01" + len(body).to_bytes(7, "big")
    return kind.to_bytes((kind.bit_length() + 7) // 8, "big") + size + body


def _block(track: int, data: bytes, *, seconds: float = 0.0) -> bytes:
    """Returns the block of a frame. With `seconds` it states its duration."""
    if not seconds:
        return element(0xA3, bytes([0x80 | track]), b"\0\0\x80", data)
    block = element(0xA1, bytes([0x80 | track]), b"\0\0\0", data)
    return element(0xA0, block, element(0x9B, int(seconds * 1000).to_bytes(4, "big")))


def recording(
    *,
    tags: bool = False,
    live: bool = False,
    timed: bool = True,
    extra: bytes = b"",
    doctype: bytes = b"webm",
) -> bytes:
    """Returns a WebM video of two frames in 2.5 seconds.

    `live`: does not state its size, as a browser records it. `timed`: states its duration. `tags`: adds a location to
    tags, title, chapters and subtitles.
    """
    place = PLACE.encode()
    frame = picture("image/webp", (64, 48))[20:]  # of a lossy image the frame is one of VP8
    lasts_each = element(0x23E383, (1_250_000_000).to_bytes(8, "big"))
    sizes = element(0xE0, element(0xB0, b"\0\x40"), element(0xBA, b"\x30"))
    shown = element(0xAE, element(0xD7, b"\1"), element(0x73C5, b"\1"), element(0x83, b"\1"), lasts_each,
                    element(0x86, b"V_VP8"), sizes)  # fmt: skip
    words = element(0xAE, element(0xD7, b"\2"), element(0x73C5, b"\2"), element(0x83, b"\x11"), element(0x536E, place),
                    element(0x86, b"S_TEXT/UTF8"))  # fmt: skip
    tracks = element(0x1654AE6B, shown, words if tags else b"")
    lasts = element(0x4489, struct.pack(">d", 2500)) if timed else b""
    title = element(0x7BA9, place) + element(0x4461, bytes(7) + b"\1") if tags else b""
    info = element(0x1549A966, element(0x2AD7B1, b"\x0f\x42\x40"), lasts, title)
    tag = element(0x67C8, element(0x45A3, b"LOCATION"), element(0x4487, place))
    chapter = element(0xB6, element(0x73C4, b"\1"), element(0x91, b"\0"), element(0x80, element(0x85, place)))
    described = element(0x1254C367, element(0x7373, tag)) + element(0x1043A770, element(0x45B9, chapter))
    clusters = [
        element(
            0x1F43B675,
            element(0xE7, milliseconds.to_bytes(2, "big")),
            _block(1, frame),
            _block(2, place, seconds=1) if tags else b"",
            unknown=live,
        )
        for milliseconds in (0, 1250)
    ]
    parts = (info, tracks, described if tags else b"", *clusters, extra)
    return element(0x1A45DFA3, element(0x4282, doctype)) + element(0x18538067, *parts, unknown=live)


#: The configuration of Dolby Vision: version 1.0, profile 9 (of H.264), level 1, with metadata and base layer.
DOLBY_VISION = box(b"dvvC", struct.pack(">BBHB", 1, 0, 9 << 9 | 1 << 3 | 0b101, 2 << 4), bytes(19))

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
    """Returns a valid, ordinary file of this media type."""
    if mime_type == "video/webm":
        return recording()
    if mime_type.startswith("video/"):
        return film(brand=b"qt  " if mime_type == "video/quicktime" else b"isom", moov_first=True)
    return picture(mime_type)
