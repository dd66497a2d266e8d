"""The orientation of an image is kept, wherever it is told, and its size is that of the upright image."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from media_kit import samples
from media_kit.samples import png_chunk
from PIL import Image, PngImagePlugin

from media.decoder.formats import exif


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


@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt"])
def test_the_orientation_that_imagemagick_writes_as_text_is_kept(
    inspect_image: Callable[..., Any], kind: bytes
) -> None:
    def upload(exif: str) -> tuple[dict[str, Any], bytes]:
        text = f"\nexif\n{len(exif) // 2:8}\n{exif[:72]}\n{exif[72:]}\n".encode()
        if kind == b"zTXt":
            text = b"\0" + zlib.compress(text)
        named = png_chunk(kind, b"Raw profile type exif\0" + text)
        return inspect_image(data[:33] + named + data[33:], "image/png")

    data, exif = samples.picture("image/png"), Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "a camera of some name"
    found, stored = upload(exif.tobytes().hex())
    assert (found["width"], found["height"]) == (30, 40)
    with Image.open(io.BytesIO(stored)) as image:
        assert dict(image.getexif()) == {0x0112: 6}
    upright = {"mime_type": "image/png", "width": 40, "height": 30, "changed": True}
    assert upload("no digits") == upload("") == (upright, data)


@pytest.mark.parametrize("form", ['tiff:Orientation="6"', "<tiff:Orientation>6</tiff:Orientation>"])
@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_a_rotation_told_only_in_xmp_is_kept(
    inspect_image: Callable[..., Any], mime_type: str, form: str
) -> None:
    packet = f"<rdf:Description {form}/>"
    if mime_type == "image/png":
        texts = PngImagePlugin.PngInfo()
        texts.add_itxt("XML:com.adobe.xmp", packet)
        data = samples.picture(mime_type, pnginfo=texts)
    else:
        data = samples.picture(mime_type, xmp=packet.encode())
    found, stored = inspect_image(data, mime_type)
    assert (found["width"], found["height"]) == (30, 40)
    with Image.open(io.BytesIO(stored)) as image:
        assert dict(image.getexif()) == {0x0112: 6}
        assert "xmp" not in image.info
    assert inspect_image(stored, mime_type)[1] == stored


@pytest.mark.parametrize("block", [
    b"Exif\0\0" + exif.orientation_block(6),
    # The name of the camera's maker lies beyond the end.
    b"MM\0*" + struct.pack(">IH HHII HHIHH", 8, 2, 0x10F, 2, 100, 9_000, 0x112, 3, 1, 6, 0),
], ids=["named", "damaged"])  # fmt: skip
def test_the_orientation_counts_whatever_else_is_in_the_exif(
    inspect_image: Callable[..., Any], block: bytes
) -> None:
    data = samples.picture("image/png")
    found, _ = inspect_image(data[:33] + png_chunk(b"eXIf", block) + data[33:], "image/png")
    assert (found["width"], found["height"]) == (30, 40)


def test_exif_counts_more_than_xmp(inspect_image: Callable[..., Any]) -> None:
    exif = Image.Exif()
    exif[0x0112] = 1
    _, stored = inspect_image(samples.picture(exif=exif, xmp=b'tiff:Orientation="6"'))
    with Image.open(io.BytesIO(stored)) as image:
        assert not image.getexif()
