"""Images: what is accepted, what is refused, and what is removed from the stored file."""

import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from media_kit import samples
from PIL import Image

from contracts.platforms import PLATFORMS
from media.decoder import images
from media.decoder.formats import Refused
from media.files.downloads import MAX_JPEG_BYTES

PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PAYLOADS = {
    "page": b"<html><body onload=alert(1)></body></html>",
    "script": b"<script>alert(1)</script>",
    "drawing": b'<svg xmlns="http://www.w3.org/2000/svg"></svg>',
    "document": b"%PDF-1.4\n1 0 obj\n",
    "program": b"<?php system($_GET[0]); ?>",
    "archive": b"PK\x03\x04\x14\0\0\0" + bytes(22) + b"PK\x05\x06" + bytes(18),
    "javascript": b"*/=alert(1)//",
}


def pixels(data: bytes):
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGBA").tobytes()


@pytest.mark.parametrize("mime_type", PICTURES)
def test_an_ordinary_image_is_stored_unchanged(inspect_image: Callable[..., Any], mime_type: str) -> None:
    data = samples.picture(mime_type)
    found, stored = inspect_image(data, mime_type)
    assert (found["width"], found["height"]) == (40, 30)
    assert stored == data


@pytest.mark.parametrize("mime_type", PICTURES)
def test_the_location_is_removed_and_the_pixels_stay(
    inspect_image: Callable[..., Any], mime_type: str
) -> None:
    data = samples.placed(mime_type)
    assert samples.tells_place(data)
    _, stored = inspect_image(data, mime_type)
    assert not samples.tells_place(stored)
    assert pixels(stored) == pixels(data)
    with Image.open(io.BytesIO(stored)) as image:
        assert not image.getexif()
    assert inspect_image(stored, mime_type)[1] == stored


def _chunk(kind, body: bytes):
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")


@pytest.mark.parametrize("payload", ["page", "program"])
@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_a_colour_profile_is_searched_wherever_it_is(
    inspect_image: Callable[..., Any], mime_type: str, payload: bytes
) -> None:
    deep = bytes(100_000) + PAYLOADS[payload] + bytes(100_000)
    if mime_type == "image/png":
        data = samples.picture(mime_type)
        around = _chunk(b"tEXt", b"Comment\0" + b"a" * 70_000)
        data = data[:33] + around + _chunk(b"iCCP", b"p\0\0" + zlib.compress(deep, 0)) + around + data[33:]
    else:
        data = samples.picture(mime_type, icc_profile=deep)
    with pytest.raises(Refused):
        inspect_image(data, mime_type)


def test_content_that_moves_to_the_front_is_searched_too(
    inspect_image: Callable[..., Any],
) -> None:
    """Uncompressed pixels: a page deep in the uploaded file, and in the first kilobyte of the stored one."""
    rows = b"".join(b"\0" + (PAYLOADS["script"] * 9)[:120] for _ in range(30))
    data, around = samples.picture("image/png"), _chunk(b"tEXt", b"Comment\0" + b"a" * 70_000)
    pixels_ = _chunk(b"IDAT", zlib.compress(rows, 0))
    with pytest.raises(Refused):
        inspect_image(data[:33] + around + pixels_ + around + _chunk(b"IEND", b""), "image/png")


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_the_orientation_is_kept_and_the_size_is_as_displayed(
    inspect_image: Callable[..., Any], mime_type: str, orientation: int
) -> None:
    found, stored = inspect_image(samples.placed(mime_type, orientation), mime_type)
    assert (found["width"], found["height"]) == ((30, 40) if orientation >= 5 else (40, 30))
    with Image.open(io.BytesIO(stored)) as image:
        assert dict(image.getexif()) == {0x0112: orientation}
    assert not samples.tells_place(stored)
    assert inspect_image(stored, mime_type)[1] == stored


@pytest.mark.parametrize("mime_type", ["image/png", "image/gif", "image/webp"])
def test_an_animation_keeps_its_frames(inspect_image: Callable[..., Any], mime_type: str) -> None:
    data = samples.animation(mime_type)
    _, stored = inspect_image(data, mime_type)
    with Image.open(io.BytesIO(stored)) as image:
        assert image.n_frames == 3


def test_the_colour_profile_stays(inspect_image: Callable[..., Any]) -> None:
    profile = bytes(range(256)) * 20
    _, stored = inspect_image(samples.picture(icc_profile=profile, comment=b"gone"))
    with Image.open(io.BytesIO(stored)) as image:
        assert image.info["icc_profile"] == profile
        assert "comment" not in image.info


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
@pytest.mark.parametrize("mime_type", PICTURES)
def test_data_before_or_after_an_image_is_refused(
    inspect_image: Callable[..., Any], mime_type: str, payload: bytes
) -> None:
    data = samples.picture(mime_type)
    for hostile in (payload + data, data + payload):
        with pytest.raises(Refused):
            inspect_image(hostile, mime_type)


@pytest.mark.parametrize("payload", [it for name, it in PAYLOADS.items() if name != "javascript"])
def test_a_comment_that_is_a_page_a_program_or_an_archive_is_refused(
    inspect_image: Callable[..., Any], payload: bytes
) -> None:
    for mime_type in ("image/jpeg", "image/gif"):
        with pytest.raises(Refused):
            inspect_image(samples.picture(mime_type, comment=payload), mime_type)


@pytest.mark.parametrize("mime_type", PICTURES)
def test_an_incomplete_image_is_refused_wherever_it_ends(
    inspect_image: Callable[..., Any], mime_type: str
) -> None:
    data = samples.picture(mime_type, (64, 64))
    for length in range(1, len(data), max(len(data) // 50, 1)):
        with pytest.raises(Refused):
            inspect_image(data[:length], mime_type)
    with pytest.raises(Refused):
        inspect_image(data[:-1], mime_type)


def test_a_phones_second_image_is_cut_off_not_refused(inspect_image: Callable[..., Any]) -> None:
    data = samples.picture()
    announced = data[:2] + b"\xff\xe2\x00\x08MPF\0XX"[:10] + data[2:]
    _, stored = inspect_image(announced + samples.picture(size=(8, 8)))
    assert stored == data


def test_an_image_too_large_to_decode_is_refused_before_decoding(inspect_image: Callable[..., Any]) -> None:
    for image_format, mime_type in (("PNG", "image/png"), ("GIF", "image/gif")):
        file = io.BytesIO()
        Image.new("1", (20_000, 5_001)).save(file, image_format)
        with pytest.raises(Refused, match="megapixels"):
            inspect_image(file.getvalue(), mime_type)


def test_an_animation_of_too_many_frames_is_refused(inspect_image: Callable[..., Any]) -> None:
    data = samples.picture("image/gif")
    frames = data[data.index(b"\x2c\0\0") : -1]
    with pytest.raises(Refused, match="frames"):
        inspect_image(data[:-1] + frames * 2001 + b"\x3b", "image/gif")


def test_another_type_than_declared_is_refused(inspect_image: Callable[..., Any]) -> None:
    for declared in PICTURES:
        for actual in PICTURES:
            if actual != declared:
                with pytest.raises(Refused, match="not image/"):
                    inspect_image(samples.picture(actual), declared)


@pytest.mark.parametrize("side", [3000, 4500])
def test_the_jpeg_of_any_image_fits_every_platform_that_gets_one(tmp_path: Path, side) -> None:
    noise, made = tmp_path / "noise.png", tmp_path / "made.jpg"
    Image.frombytes("RGB", (side, side), os.urandom(3 * side * side)).save(noise, compress_level=0)
    with noise.open("rb") as first, made.open("w+b") as second:
        argument = {"mime_type": "image/png", "max_bytes": MAX_JPEG_BYTES}
        told = images.make_jpeg(argument, (first.fileno(), second.fileno()))
    assert told == {"size_bytes": made.stat().st_size}
    for platform in PLATFORMS.values():
        for limits in platform.files.values():
            if limits.converted:
                assert made.stat().st_size <= limits.size_bytes[1], platform.name
    with Image.open(made) as image:
        assert image.format == "JPEG"
        assert min(image.size) >= 1440
