"""How a video is changed to fit a need: when its pictures stay as they are, and how they are encoded otherwise."""

import pytest
from msgspec.structs import replace

from contracts.renditions import Need
from media.inspection.film import Film, described
from media.inspection.film_plan import bits_a_second, copies, encoding, filters, size

MIB = 2**20
H264 = """  Stream #0:0[0x1](und): Video: h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709), 1920x1080, 30 fps
  Stream #0:1[0x2](und): Audio: aac (LC) (mp4a / 0x6134706D), 48000 Hz, stereo, fltp, 128 kb/s (default)
"""
HDR = H264.replace(
    "h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709)",
    "hevc (Main 10), yuv420p10le(tv, bt2020nc/bt2020/arib-std-b67)",
)


def need(**fields) -> Need:
    return Need(**{"mime_type": "video/mp4", "max_bytes": 250 * MIB} | fields)


def source(description: str = H264, side: tuple[int, int] = (1920, 1080), **fields) -> Film:
    fields = {"size_bytes": 60 * MIB, "duration_seconds": 60.0} | fields
    return replace(described(description), width=side[0], height=side[1], **fields)


def test_h264_in_another_container_is_copied() -> None:
    assert copies(need(), source())
    assert copies(need(video_codecs=("h264", "hevc")), source(HDR))


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (need(), source(HDR)),
        (need(video_codecs=("vp9",)), source()),
        (need(width=640, height=360), source()),
        (need(frame_rate=60.0), source()),
        (need(max_bytes=60 * MIB), source()),
        (need(min_bytes=76_800), source(size_bytes=10_000)),
        (need(), source(H264.replace("yuv420p(tv", "yuv422p10le(tv"))),
        (need(), source(H264.replace("1920x1080,", "1920x1080 [SAR 4:3 DAR 64:27],"))),
    ],
)
def test_what_the_platform_does_not_take_is_encoded_anew(wanted: Need, given: Film) -> None:
    assert not copies(wanted, given)


def test_sides_are_even_and_at_most_1920_pixels_unless_the_platform_takes_more() -> None:
    assert size(need(), source(side=(3840, 2160))) == (1920, 1080)
    assert size(need(), source(side=(2160, 3840))) == (1080, 1920)
    assert size(need(), source(side=(641, 361))) == (640, 360)
    assert size(need(), source(side=(1, 1))) == (2, 2)
    assert size(need(width=4096, height=2160), source(side=(5000, 2637))) == (4096, 2160)


@pytest.mark.parametrize("seconds", [0.5, 60.0, 1_800.0, None])
def test_the_most_bits_a_second_fit_the_bytes(seconds: float | None) -> None:
    wanted, given = need(max_bytes=100 * MIB), source(size_bytes=250 * MIB, duration_seconds=seconds)
    bits = bits_a_second(wanted, given)
    assert 0 < bits <= 24_000_000
    assert (bits + 128_000) * ((seconds or 600) + 1) / 8 <= 100 * MIB


def test_copied_sound_takes_its_own_share_of_the_bytes() -> None:
    wanted = need(max_bytes=20 * MIB)
    louder = source(H264.replace("128 kb/s", "317 kb/s"))
    assert bits_a_second(wanted, source()) - bits_a_second(wanted, louder) == 317_000 - 128_000


def test_a_rendition_has_at_most_half_as_many_bits_again_as_its_source() -> None:
    assert bits_a_second(need(), source(size_bytes=15_000_000)) == 3_000_000
    assert bits_a_second(need(), source(size_bytes=100)) == 1_000_000


def test_only_what_is_needed_is_filtered() -> None:
    assert filters(need(), source())[1:] == [
        "scale=1920:1080:flags=bicubic:out_range=tv",
        "setsar=1",
        "format=yuv420p",
    ]
    assert "fps=60" in filters(need(frame_rate=60.0), source())
    assert any("tonemap" in it for it in filters(need(), source(HDR)))


@pytest.mark.parametrize(
    ("sound", "is_copied"),
    [
        ("aac (LC) (mp4a / 0x6134706D), 44100 Hz, mono, fltp, 69 kb/s", True),
        ("aac (LC) (mp4a / 0x6134706D), 96000 Hz, stereo, fltp", False),
        ("aac (LC) (mp4a / 0x6134706D), 48000 Hz, 5.1, fltp", False),
        ("aac (HE-AAC) (mp4a / 0x6134706D), 48000 Hz, stereo, fltp", False),
        ("aac (LC) (mp4a / 0x6134706D), 48000 Hz, stereo, fltp, 510 kb/s", False),
        ("opus, 48000 Hz, stereo, fltp", False),
    ],
)
def test_sound_is_copied_if_every_platform_takes_it(sound: str, is_copied: bool) -> None:
    arguments = encoding(need(), source(f"{H264.splitlines()[0]}\n  Stream #0:1: Audio: {sound}\n"))
    assert ("-c:a copy" in arguments) is is_copied
