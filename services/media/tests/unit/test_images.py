"""Images: what is accepted, what is refused, and what is removed from the stored file."""

import io
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from media_kit import samples
from media_kit.samples import png_chunk
from PIL import Image, ImageChops, ImageCms

from media.decoder.formats import Refused

PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
#: The end that no decoder needs: end markers, checksums, and bits that fill the last byte.
UNNEEDED_BYTES = {"image/jpeg": 4, "image/png": 24, "image/gif": 4, "image/webp": 0}
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


@pytest.mark.parametrize("payload", ["page", "program"])
@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_a_colour_profile_is_searched_wherever_it_is(
    inspect_image: Callable[..., Any], mime_type: str, payload: bytes
) -> None:
    deep = bytes(100_000) + PAYLOADS[payload] + bytes(100_000)
    if mime_type == "image/png":
        data = samples.picture(mime_type)
        around = png_chunk(b"tEXt", b"Comment\0" + b"a" * 70_000)
        data = data[:33] + around + png_chunk(b"iCCP", b"p\0\0" + zlib.compress(deep, 0)) + around + data[33:]
    else:
        data = samples.picture(mime_type, icc_profile=deep)
    with pytest.raises(Refused):
        inspect_image(data, mime_type)


def test_content_that_moves_to_the_front_is_searched_too(
    inspect_image: Callable[..., Any],
) -> None:
    """Uncompressed pixels that contain a web page. The page is deep in the uploaded file, but in the first kilobyte of
    the stored one.
    """
    rows = b"".join(b"\0" + (PAYLOADS["script"] * 9)[:120] for _ in range(30))
    data, around = samples.picture("image/png"), png_chunk(b"tEXt", b"Comment\0" + b"a" * 70_000)
    pixels_ = png_chunk(b"IDAT", zlib.compress(rows, 0))
    with pytest.raises(Refused):
        inspect_image(data[:33] + around + pixels_ + around + png_chunk(b"IEND", b""), "image/png")


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


@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_a_colour_profile_no_longer_names_the_screen_and_converts_colours_as_before(
    inspect_image: Callable[..., Any], mime_type: str
) -> None:
    """macOS writes the serial number of the screen into the profile of each screenshot, in the tag `mmod`."""
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    profile, lab = samples.with_tag(srgb, b"mmod", b"mmod serial 4711"), ImageCms.createProfile("LAB")
    _, stored = inspect_image(samples.picture(mime_type, icc_profile=profile), mime_type)
    with Image.open(io.BytesIO(stored)) as image:
        kept = image.info["icc_profile"]
    assert kept == profile.replace(b"mmod serial 4711", bytes(16)) != profile
    colour = Image.new("RGB", (1, 1), (200, 100, 50))
    before, after = (
        ImageCms.profileToProfile(colour, io.BytesIO(it), lab, outputMode="LAB") for it in (srgb, kept)
    )
    assert before.tobytes() == after.tobytes()


def test_a_png_may_have_a_colour_profile_as_large_as_a_jpeg_may(inspect_image: Callable[..., Any]) -> None:
    data = samples.picture("image/png", icc_profile=bytes(16_000_000))
    assert inspect_image(data, "image/png")[1] == data
    with pytest.raises(Refused):
        inspect_image(samples.picture("image/png", icc_profile=bytes(17_000_000)), "image/png")


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
@pytest.mark.parametrize("mime_type", PICTURES)
def test_what_follows_an_image_is_cut_off(
    inspect_image: Callable[..., Any], mime_type: str, payload: bytes
) -> None:
    data = samples.picture(mime_type)
    for tail in (payload, bytes(3), bytes(9) + data, samples.film()):
        assert inspect_image(data + tail, mime_type)[1] == data


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_comment_is_removed_whatever_is_in_it(inspect_image: Callable[..., Any], payload: bytes) -> None:
    for mime_type in ("image/jpeg", "image/gif"):
        data = samples.picture(mime_type, comment=payload)
        _, stored = inspect_image(data, mime_type)
        assert payload not in stored
        assert pixels(stored) == pixels(data)


@pytest.mark.parametrize("mime_type", PICTURES)
def test_an_incomplete_image_is_refused_wherever_it_ends(
    inspect_image: Callable[..., Any], mime_type: str
) -> None:
    data = samples.picture(mime_type, (64, 64))
    for length in range(16, len(data) - UNNEEDED_BYTES[mime_type], max(len(data) // 50, 1)):
        with pytest.raises(Refused):
            inspect_image(data[:length], mime_type)


@pytest.mark.parametrize(("mime_type", "missing"), [("image/png", 12), ("image/gif", 1)])
def test_an_image_that_lacks_only_its_end_gets_one(
    inspect_image: Callable[..., Any], mime_type: str, missing: int
) -> None:
    data = samples.picture(mime_type)
    assert inspect_image(data[:-missing], mime_type)[1] == data


@pytest.mark.parametrize("stray", [b"\0", b"stray \xff\0 bytes", b"\xff\xff\xff", b"\xff\xd0\xff\x01"])
def test_stray_bytes_between_the_parts_of_an_image_are_skipped(
    inspect_image: Callable[..., Any], stray: bytes
) -> None:
    data = samples.picture()
    for marker in (b"\xff\xdb", b"\xff\xc0", b"\xff\xda"):
        at = data.index(marker)
        assert inspect_image(data[:at] + stray + data[at:])[1] == data
    data = samples.picture("image/gif")
    at = data.index(b"\x2c\0\0\0\0")
    assert inspect_image(data[:at] + b"\0\1" + data[at:], "image/gif")[1] == data


def test_markers_without_a_meaning_in_the_pixels_of_a_jpeg_are_kept_as_decoders_go_on_after_them(
    inspect_image: Callable[..., Any],
) -> None:
    data = samples.picture(size=(64, 64), restart_marker_rows=1)
    at = data.index(b"\xff\xd1")
    for damage in (b"\xff\x9f", b"\xff\xdc"):
        damaged = data[: at - 4] + damage + data[at - 2 :]
        assert inspect_image(damaged)[1] == damaged


def test_a_gif_whose_last_block_names_more_bytes_than_there_are_is_mended_if_its_pixels_are_complete(
    inspect_image: Callable[..., Any],
) -> None:
    data = samples.picture("image/gif", (8, 8))
    at = data.rindex(b"\0;") - 1
    while at + 1 + data[at] != len(data) - 2:
        at -= 1
    damaged = data[:at] + b"\xff" + data[at + 1 :]
    _, stored = inspect_image(damaged, "image/gif")
    assert stored == data[:at] + bytes([data[at] + 2]) + data[at + 1 :] + b"\0;"
    assert pixels(stored) == pixels(data)


def test_an_animation_with_a_damaged_end_keeps_the_frames_before_it(
    inspect_image: Callable[..., Any],
) -> None:
    data = samples.animation("image/gif")
    _, stored = inspect_image(data[:-1] + b"\x21\xf9\xff" + bytes(20), "image/gif")
    assert stored == data


def test_adobes_transform_stays_however_long_its_segment_is(inspect_image: Callable[..., Any]) -> None:
    file = io.BytesIO()
    Image.linear_gradient("L").convert("CMYK").save(file, "JPEG")
    data = file.getvalue()
    at = data.index(b"\xff\xee\x00\x0eAdobe")
    longer = data[:at] + b"\xff\xee\x00\x14" + data[at + 4 : at + 16] + b"camera" + data[at + 16 :]
    _, stored = inspect_image(longer)
    assert stored == data
    assert pixels(stored) == pixels(longer)


@pytest.mark.parametrize("kind", [b"IDAT", b"tEXt"])
def test_a_wrong_checksum_of_pixels_or_of_what_is_cut_off_is_mended(
    inspect_image: Callable[..., Any], kind: bytes
) -> None:
    data = samples.picture("image/png")
    text = png_chunk(b"tEXt", b"Comment\0home")
    with_text = data[:-12] + text + data[-12:]
    at = with_text.index(kind) - 4
    at += 8 + int.from_bytes(with_text[at : at + 4], "big")
    wrong = with_text[:at] + bytes([with_text[at] ^ 1]) + with_text[at + 1 :]
    assert inspect_image(wrong, "image/png")[1] == data


def test_a_part_with_a_wrong_checksum_before_the_pixels_of_a_png_is_left_out_if_decoders_do_without_it(
    inspect_image: Callable[..., Any],
) -> None:
    data = samples.picture("image/png")
    for kind in (b"iCCP", b"tEXt"):
        wrong = png_chunk(kind, b"Comment\0home")[:-1] + b"?"
        assert inspect_image(data[:33] + wrong + data[33:], "image/png")[1] == data
    for needed in (data[:32] + bytes([data[32] ^ 1]), data[:33] + png_chunk(b"fcTL", bytes(26))[:-1] + b"?"):
        with pytest.raises(Refused, match="damaged"):
            inspect_image(needed + data[33:], "image/png")


@pytest.mark.filterwarnings("ignore:Invalid APNG")
def test_an_animation_that_announces_no_sensible_number_of_frames_is_taken(
    inspect_image: Callable[..., Any],
) -> None:
    data = samples.picture("image/png")
    announced = data[:33] + png_chunk(b"acTL", b"\xff" * 4 + bytes(4)) + data[33:]
    assert inspect_image(announced, "image/png")[1] == announced


def test_random_bytes_refuse_no_image(inspect_image: Callable[..., Any]) -> None:
    """A Flash file is recognised by few bytes, and pixels may contain the same bytes by chance."""
    flash = b"CWS\x0a\x10\x01\0\0x\x9c"
    rows = b"".join(b"\0" + (flash * 12)[:120] for _ in range(30))
    data = (
        samples.picture("image/png")[:33]
        + png_chunk(b"IDAT", zlib.compress(rows, 0))
        + png_chunk(b"IEND", b"")
    )
    assert flash in data
    assert inspect_image(data, "image/png")[1] == data


@pytest.mark.parametrize("mime_type", ["image/heic", "image/avif"])
def test_heic_and_avif_become_jpegs_that_look_the_same(
    inspect_image: Callable[..., Any], mime_type: str
) -> None:
    found, stored = inspect_image(samples.converted(mime_type), mime_type)
    assert found == {"mime_type": "image/jpeg", "width": 40, "height": 30, "changed": True}
    with Image.open(io.BytesIO(stored)) as image:
        assert (image.format, image.size) == ("JPEG", (40, 30))
        assert not image.getexif()
        assert image.info["icc_profile"] == samples.PROFILE
        expected = Image.open(io.BytesIO(samples.picture("image/png"))).convert("RGB")
        furthest = max(high for _, high in ImageChops.difference(image.convert("RGB"), expected).getextrema())
        assert furthest <= 24


@pytest.mark.parametrize("mime_type", ["image/heic", "image/avif"])
def test_an_image_whose_main_brand_is_that_of_a_maker_is_read_by_its_further_brands(
    inspect_image: Callable[..., Any], mime_type: str
) -> None:
    data = samples.converted(mime_type)
    assert inspect_image(data[:8] + b"make" + data[12:], mime_type) == inspect_image(data, mime_type)


def test_a_converted_image_is_upright(inspect_image: Callable[..., Any]) -> None:
    found, stored = inspect_image(samples.avif(orientation=6), "image/avif")
    assert (found["width"], found["height"]) == (30, 40)
    with Image.open(io.BytesIO(stored)) as image:
        assert image.size == (30, 40)
        assert image.getpixel((29, 20))[0] < 40 < 200 < image.getpixel((0, 20))[0]


def test_an_animated_avif_is_refused_with_advice(inspect_image: Callable[..., Any]) -> None:
    with pytest.raises(Refused, match="GIF, WebP or MP4"):
        inspect_image(samples.avif(frames=2), "image/avif")


def test_an_image_too_large_to_decode_is_refused_before_decoding(inspect_image: Callable[..., Any]) -> None:
    for image_format, mime_type in (("PNG", "image/png"), ("GIF", "image/gif")):
        file = io.BytesIO()
        Image.new("1", (20_000, 10_001)).save(file, image_format)
        with pytest.raises(Refused, match="megapixels"):
            inspect_image(file.getvalue(), mime_type)


def test_a_jpeg_of_too_many_passes_is_refused_with_advice(inspect_image: Callable[..., Any]) -> None:
    data = samples.picture()
    scan = data[data.index(b"\xff\xda") : -2]
    with pytest.raises(Refused, match=r"takes too long to open\. Save it as a new JPEG, and upload that"):
        inspect_image(data[:-2] + scan * 100 + data[-2:])


def test_an_animation_of_too_many_frames_is_refused(inspect_image: Callable[..., Any]) -> None:
    data = samples.picture("image/gif")
    frames = data[data.index(b"\x2c\0\0") : -1]
    with pytest.raises(Refused, match="frames"):
        inspect_image(data[:-1] + frames * 2001 + b"\x3b", "image/gif")


def test_a_frame_that_would_enlarge_an_animation_beyond_the_limit_is_refused(
    inspect_image: Callable[..., Any],
) -> None:
    data = samples.animation("image/gif")
    at = data.rindex(b"\x2c\0\0\0\0")
    with pytest.raises(Refused, match="megapixels"):
        inspect_image(data[: at + 1] + b"\xff\xff\xff\xff" + data[at + 5 :], "image/gif")


@pytest.mark.parametrize("mime_type", PICTURES)
def test_bytes_of_another_type_are_refused(inspect_image: Callable[..., Any], mime_type: str) -> None:
    for actual in PICTURES:
        if actual != mime_type:
            with pytest.raises(Refused):
                inspect_image(samples.picture(actual), mime_type)
