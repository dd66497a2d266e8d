"""Renditions of images: their size, bytes, colours and orientation."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from media_kit import samples
from PIL import Image, ImageCms

from media.decoder.renditions import make_picture

Make = Callable[..., tuple[dict[str, Any], Image.Image]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a rendition of the image. Returns its properties and the rendition."""

    def run(
        data: bytes,
        mime_type: str,
        width: int | None = None,
        height: int | None = None,
        max_bytes: int = 2**23,
    ) -> tuple[dict[str, Any], Image.Image]:
        (tmp_path / "given").write_bytes(data)
        argument = {"mime_type": mime_type, "width": width, "height": height, "max_bytes": max_bytes}
        with (tmp_path / "given").open("rb") as first, (tmp_path / "made").open("w+b") as second:
            told = make_picture(argument, (first.fileno(), second.fileno()))
        made = (tmp_path / "made").read_bytes()
        assert len(made) <= max_bytes
        image = Image.open(io.BytesIO(made))
        assert (image.format, image.size) == ("JPEG", (told["width"], told["height"]))
        return told, image

    return run


def noise(width: int, height: int, mime_type: str = "image/png", **options: Any) -> bytes:
    file = io.BytesIO()
    image = Image.frombytes("RGB", (width, height), os.urandom(3 * width * height))
    image.save(file, mime_type.partition("/")[2], **options)
    return file.getvalue()


@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp", "image/gif"])
def test_a_picture_gets_the_wanted_size(make: Make, mime_type: str) -> None:
    told, _ = make(samples.picture(mime_type, (400, 300)), mime_type, 144, 108)
    assert told == {"width": 144, "height": 108}


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_picture_is_upright(make: Make, orientation: int) -> None:
    upright = orientation < 5
    _, image = make(
        samples.placed("image/jpeg", orientation), "image/jpeg", *((20, 15) if upright else (15, 20))
    )
    assert not image.getexif()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_the_colour_profile_is_kept(make: Make, mode: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    given = io.BytesIO()
    Image.open(io.BytesIO(samples.picture("image/png", (400, 300)))).convert(mode).save(
        given, "PNG", icc_profile=profile
    )
    _, image = make(given.getvalue(), "image/png", 100, 75)
    assert image.info["icc_profile"] == profile


@pytest.mark.parametrize("mode", ["L", "LA"])
def test_grey_is_converted_by_its_profile(make: Make, mode: str) -> None:
    given = io.BytesIO()
    Image.new(mode, (40, 30), 128 if mode == "L" else (128, 255)).save(
        given, "PNG", icc_profile=samples.LINEAR_GREY_PROFILE
    )
    _, image = make(given.getvalue(), "image/png", 20, 15)
    assert samples.is_close(image, (188, 188, 188))
    assert "icc_profile" not in image.info


def test_transparent_grey_with_a_profile_is_white(make: Make) -> None:
    given = io.BytesIO()
    Image.new("LA", (40, 30), (128, 0)).save(given, "PNG", icc_profile=samples.LINEAR_GREY_PROFILE)
    assert samples.is_close(make(given.getvalue(), "image/png", 20, 15)[1], (255, 255, 255))


def test_grey_with_a_profile_of_three_colours_is_converted_by_it(make: Make) -> None:
    """Some programs leave the profile of a colour photo in its grey copy."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    given = io.BytesIO()
    Image.new("L", (40, 30), 128).save(given, "JPEG", icc_profile=profile)
    assert samples.is_close(make(given.getvalue(), "image/jpeg", 20, 15)[1], (128, 128, 128))


@pytest.mark.parametrize(
    ("profile", "colour"),
    [(samples.RED_INK_PROFILE, (255, 0, 0)), (samples.PROFILE, (0, 255, 255)), (None, (0, 255, 255))],
)
def test_colours_of_print_are_converted_by_their_profile_if_it_can_be_read(
    make: Make, profile: bytes | None, colour: tuple[int, int, int]
) -> None:
    given = io.BytesIO()
    Image.new("CMYK", (40, 30), (255, 0, 0, 0)).save(given, "JPEG", quality=95, icc_profile=profile)
    _, image = make(given.getvalue(), "image/jpeg", 20, 15)
    assert (image.mode, "icc_profile" in image.info) == ("RGB", False)
    assert samples.is_close(image, colour)


def test_colours_are_converted_when_their_profile_would_leave_too_little_room(make: Make) -> None:
    """Printers and scanners have profiles of half a megabyte, a thumbnail has 64 KB."""
    _, image = make(samples.with_large_profile(), "image/png", 20, 15, max_bytes=64 * 1024)
    assert image.size == (20, 15)
    assert "icc_profile" not in image.info
    assert samples.is_close(image, (100, 200, 50))


def test_a_large_profile_that_cannot_be_read_is_left_out(make: Make) -> None:
    data = samples.picture("image/png", (40, 30), icc_profile=b"x" * 100_000)
    _, image = make(data, "image/png", 20, 15, max_bytes=64 * 1024)
    assert image.size == (20, 15)
    assert "icc_profile" not in image.info


def test_a_picture_that_never_fits_ends_at_one_pixel(tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(samples.picture("image/png", (40, 40)))
    argument = {"mime_type": "image/png", "width": 20, "height": 20, "max_bytes": 1}
    with (tmp_path / "given").open("rb") as first, (tmp_path / "made").open("w+b") as second:
        assert make_picture(argument, (first.fileno(), second.fileno())) == {"width": 1, "height": 1}


def test_transparent_parts_become_white(make: Make) -> None:
    file = io.BytesIO()
    Image.new("RGBA", (40, 40), (0, 0, 0, 0)).save(file, "PNG")
    _, image = make(file.getvalue(), "image/png", 20, 20)
    assert image.getpixel((10, 10)) == (255, 255, 255)


def test_the_best_quality_that_fits_is_found(make: Make) -> None:
    data = noise(600, 400, "image/jpeg", quality=100)
    _, image = make(data, "image/jpeg", 600, 400, max_bytes=150_000)
    assert image.size == (600, 400)
    made = image.fp.seek(0, 2)
    assert made > 0.9 * 150_000


def test_a_picture_that_fits_at_no_quality_becomes_smaller(make: Make) -> None:
    told, _ = make(noise(600, 400), "image/png", 600, 400, max_bytes=20_000)
    assert 100 < told["width"] < 600
    assert abs(told["width"] / told["height"] - 1.5) < 0.02


def test_without_a_wanted_size_no_side_is_longer_than_platforms_show(make: Make) -> None:
    told, _ = make(samples.picture("image/png", (5_000, 500)), "image/png")
    assert told == {"width": 4_096, "height": 410}


def test_sixteen_bits_of_grey_become_eight(make: Make) -> None:
    file = io.BytesIO()
    Image.new("I;16", (40, 40), 0x8000).save(file, "PNG")
    _, image = make(file.getvalue(), "image/png", 20, 20)
    assert image.convert("L").getpixel((10, 10)) in range(126, 131)
