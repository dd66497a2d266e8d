"""More than 500 hostile files: none is accepted wrongly, keeps a location, or stops the service."""

import io
import random
import struct
import threading
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import pytest
from media_kit import samples
from media_kit.running_media import RunningMedia
from media_kit.samples import png_chunk
from PIL import Image

from contracts.errors import ApiError

PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
FILMS = ("video/mp4", "video/quicktime", "video/webm")


@dataclass(frozen=True)
class Hostile:
    name: str
    mime_type: str
    data: bytes
    #: Whether it must be refused; otherwise it may be accepted if what is stored is harmless.
    refused: bool = True


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("x.html", "<script>alert(1)</script>" * 3)
    return file.getvalue()


PAYLOADS = {
    "page": b"<!DOCTYPE html><html><body onload=alert(1)>",
    "script": b"<script>alert(document.cookie)</script>",
    "drawing": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "document": b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj trailer",
    "php": b"<?php echo shell_exec($_GET['c']); ?>",
    "archive": archive(),
    "program": b"\x7fELF\x02\x01\x01" + bytes(60),
    "flash": b"CWS\x0a\x10\x01\0\0x\x9c" + bytes(range(40)),
    "javascript": b"*/=1;alert(1);/*",
}
#: The end of an image that no decoder needs: end markers, checksums, and bits that fill the last byte.
UNNEEDED_BYTES = {"image/jpeg": 4, "image/png": 24, "image/gif": 4}
#: The first bytes of types that are not accepted.
OTHERS = {
    **{name: PAYLOADS[name] for name in ("page", "drawing", "document", "archive", "flash", "php")},
    "bmp": b"BM" + bytes(60),
    "tiff": b"II*\0\x08\0\0\0" + bytes(60),
    "heic": struct.pack(">I4s4sI4s4s", 24, b"ftyp", b"heic", 0, b"mif1", b"heic") + bytes(60),
    "avif": struct.pack(">I4s4sI4s", 20, b"ftyp", b"avif", 0, b"avif") + bytes(60),
    "m4a": struct.pack(">I4s4sI4s", 20, b"ftyp", b"M4A ", 0, b"M4A ") + bytes(60),
    "wav": b"RIFF\x24\0\0\0WAVEfmt " + bytes(40),
    "text": b"hello, world\n" * 10,
    "zeros": bytes(200),
}


def polyglots():
    for mime_type in PICTURES + FILMS:
        data = samples.good(mime_type)
        for name, payload in PAYLOADS.items():
            # What follows is cut off.
            yield Hostile(f"{name} behind", mime_type, data + payload, False)
            yield Hostile(f"{name} before", mime_type, payload + data)
    for name, payload in PAYLOADS.items():
        for mime_type in ("image/jpeg", "image/gif"):
            data = samples.picture(mime_type, comment=payload)
            yield Hostile(f"{name} in a comment", mime_type, data, False)
        png, webp = samples.picture("image/png"), samples.picture("image/webp", exif=b"Exif\0\0" + payload)
        data = png[:33] + png_chunk(b"teXt", payload) + png[33:]
        yield Hostile(f"{name} in a chunk", "image/png", data, False)
        yield Hostile(f"{name} in EXIF", "image/webp", webp, False)
        box = samples.box(b"free", payload)
        yield Hostile(f"{name} in padding", "video/mp4", samples.film(in_movie=box), False)
        yield Hostile(
            f"{name} in a box", "video/mp4", samples.film(on_top=samples.box(b"evil", payload)), False
        )
        attached = samples.element(0x1941A469, payload)
        yield Hostile(f"{name} attached", "video/webm", samples.recording(extra=attached), False)


def wrong_types():
    for declared in PICTURES + FILMS:
        for actual in PICTURES + FILMS:
            if actual != declared and not {actual, declared} <= {"video/mp4", "video/quicktime"}:
                yield Hostile(f"is {actual}", declared, samples.good(actual))
        for name, data in OTHERS.items():
            yield Hostile(f"is {name}", declared, data)


def truncations():
    chance = random.Random(3)
    for mime_type in PICTURES + FILMS:
        data = samples.good(mime_type)
        most = len(data) - UNNEEDED_BYTES.get(mime_type, 0)
        for length in (1, 3, 12, 16, most - 1, *(chance.randrange(1, most) for _ in range(9))):
            yield Hostile(f"cut at {length}", mime_type, data[:length])


def bombs():
    for size in ((20_001, 10_000), (30_000, 30_000), (2**31 - 1, 2**31 - 1), (0, 5)):
        head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0))
        data = zlib.compress(bytes(100_000))
        yield Hostile(f"{size}", "image/png", samples.picture("image/png")[:8] + head + png_chunk(b"IDAT", data)
                      + png_chunk(b"IEND", b""))  # fmt: skip
    for size in ((65_535, 65_535), (22_000, 10_000), (0, 0)):
        data = samples.picture()
        at = data.index(b"\xff\xc0") + 5
        yield Hostile(f"{size}", "image/jpeg", data[:at] + struct.pack(">HH", *size) + data[at + 4 :])
        data = samples.picture("image/gif")
        yield Hostile(f"{size}", "image/gif", data[:6] + struct.pack("<HH", *size) + data[10:])
        at = data.index(b"\x2c\0\0\0\0") + 5
        yield Hostile(f"frame of {size}", "image/gif", data[:at] + struct.pack("<HH", *size) + data[at + 4 :])
    real = io.BytesIO()
    Image.new("1", (10_000, 20_001)).save(real, "PNG")
    yield Hostile("a real one", "image/png", real.getvalue())
    data = samples.picture("image/gif")
    yield Hostile("frames", "image/gif", data[:-1] + data[data.index(b"\x2c\0\0") : -1] * 3_000 + b";")
    data = samples.picture("image/webp", xmp=b"x")
    at = data.index(b"VP8X") + 12
    yield Hostile("canvas", "image/webp", data[:at] + b"\xff\xff\xff\xff\xff\xff" + data[at + 6 :])
    data = samples.picture(progressive=True)
    scans = data[data.index(b"\xff\xda") : -2]
    yield Hostile("scans", "image/jpeg", data[:-2] + scans * 200 + data[-2:])
    yield Hostile("boxes", "video/mp4", samples.film(in_movie=samples.box(b"xxxx") * 30_000), False)
    yield Hostile("elements", "video/webm", samples.recording(extra=samples.element(0xEC) * 510_000), False)
    yield Hostile("one frame shown often", "video/mp4", samples.film(filler_bytes=50_000, shown=20_000))


def places():
    for mime_type in PICTURES:
        for orientation in (None, *range(1, 9)):
            for size in ((40, 30), (17, 90)):
                yield Hostile(
                    f"turned {orientation}", mime_type, samples.placed(mime_type, orientation, size), False
                )
    for name, box in samples.PLACE_BOXES.items():
        for mime_type, brand in (("video/mp4", b"isom"), ("video/quicktime", b"qt  ")):
            for fields in ({"in_movie": box}, {"on_top": box}, {"on_top": box, "moov_first": True}):
                yield Hostile(name, mime_type, samples.film(brand=brand, **fields), False)
    yield Hostile("camera", "video/mp4", samples.film(camera_track=True), False)
    for live in (False, True):
        yield Hostile("tags", "video/webm", samples.recording(tags=True, live=live), False)


def accidents():
    chance = random.Random(7)
    for mime_type in PICTURES + FILMS:
        for number in range(12):
            data = bytearray(samples.placed(mime_type) if mime_type in PICTURES else samples.good(mime_type))
            for _ in range(chance.randrange(1, 12)):
                data[chance.randrange(16, len(data))] = chance.randrange(256)
            yield Hostile(f"accident {number}", mime_type, bytes(data), False)


def check(storage: RunningMedia, hostile: Hostile) -> str:
    """Uploads the file. Returns "taken" or the error code, and asserts that the outcome is allowed."""
    filename = f"x.{samples.ENDINGS[hostile.mime_type]}"
    try:
        media = storage.upload(hostile.data, filename, hostile.mime_type)
    except ApiError as error:
        assert error.code == "INVALID_FILE_CONTENT", error.code
        return error.code
    assert not hostile.refused, "accepted"
    stored = storage.fetch(media).data
    assert len(stored) == media.size_bytes
    if "accident" not in hostile.name:
        assert not samples.tells_place(stored), "place kept"
        assert not any(payload in stored for payload in PAYLOADS.values()), "payload kept"
    if hostile.mime_type in PICTURES:
        with Image.open(io.BytesIO(stored)) as image:
            image.load()
            assert not image.getexif().get_ifd(0x8825), "place kept"
    return "taken"


def test_five_hundred_hostile_files(storage: RunningMedia) -> None:
    kinds = (polyglots, wrong_types, truncations, bombs, places, accidents)
    files = [(kind.__name__, hostile) for kind in kinds for hostile in kind()]
    assert len(files) >= 500
    waiting, problems, seen = SimpleQueue(), [], Counter()
    for it in files:
        waiting.put(it)

    def work() -> None:
        while True:
            try:
                kind, hostile = waiting.get_nowait()
            except Empty:
                return
            try:
                seen[kind, check(storage, hostile)] += 1
            except Exception as error:  # noqa: BLE001 - all of them are shown
                problems.append(f"{kind}: {hostile.mime_type}: {hostile.name}: {error!r}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert sum(seen.values()) == len(files)
    assert seen["places", "taken"] == sum(kind == "places" for kind, _ in files)


@pytest.mark.parametrize("mime_type", PICTURES)
def test_an_ordinary_image_is_accepted_unchanged(storage: RunningMedia, mime_type: str) -> None:
    data = samples.good(mime_type)
    media = storage.upload(data, f"x.{samples.ENDINGS[mime_type]}", mime_type)
    assert storage.fetch(media).data == data
