"""Which renditions each platform needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.platforms import FileLimits
from contracts.renditions import LONGEST_SIDE, FileFacts, Need, fitted, need_of

MIB = 2**20


def photo(
    mime_type: str = "image/jpeg", size_bytes: int = MIB, side: tuple[int, int] = (1200, 900)
) -> FileFacts:
    return FileFacts(type="photo", mime_type=mime_type, size_bytes=size_bytes, width=side[0], height=side[1])


def film(mime_type: str = "video/mp4", size_bytes: int = MIB, side=(1280, 720), **facts) -> FileFacts:
    return FileFacts(
        type="video", mime_type=mime_type, size_bytes=size_bytes, width=side[0], height=side[1],
        duration_seconds=10, **facts,
    )  # fmt: skip


def film_need(platform: str, file: FileFacts) -> Need | None:
    return need_of(platform, file)


@pytest.mark.parametrize("platform", ["FB", "IG", "LN", "TT", "TW"])
def test_a_picture_within_the_limits_is_sent_as_it_is(platform: str) -> None:
    assert need_of(platform, photo()) is None
    assert need_of(platform, FileFacts(type="photo")) is None


def test_a_picture_of_too_many_pixels_is_scaled_to_the_limit() -> None:
    need = need_of("TT", photo(side=(4032, 3024)))
    assert need == Need(mime_type="image/jpeg", max_bytes=20 * MIB, width=1440, height=1080)
    assert need_of("TT", photo(side=(3024, 4032))).height == 1440
    many = need_of("LN", photo(side=(12_000, 9_000)))
    assert (many.width, many.height) == (LONGEST_SIDE, 3_072)


def test_a_picture_of_too_many_bytes_is_compressed_and_no_larger_than_platforms_show() -> None:
    assert need_of("TW", photo(size_bytes=5 * MIB)) is None
    need = need_of("TW", photo(size_bytes=5 * MIB + 1, side=(4032, 3024)))
    assert (need.max_bytes, need.width, need.height) == (5 * MIB, 4032, 3024)
    assert need_of("FB", photo(size_bytes=30 * MIB, side=(12_000, 9_000))).width == LONGEST_SIDE


@pytest.mark.parametrize(
    ("platform", "mime_type"),
    [
        ("IG", "image/png"),
        ("IG", "image/gif"),
        ("TT", "image/gif"),
        ("FB", "image/webp"),
        ("LN", "image/webp"),
    ],
)
def test_a_type_that_a_platform_does_not_take_becomes_a_jpeg(platform: str, mime_type: str) -> None:
    need = need_of(platform, photo(mime_type))
    assert (need.mime_type, need.width, need.height) == ("image/jpeg", 1200, 900)


def test_a_gif_over_the_limit_of_gifs_becomes_a_photo() -> None:
    assert need_of("TW", photo("image/gif", 15 * MIB)) is None
    assert need_of("TW", photo("image/gif", 15 * MIB + 1)).max_bytes == 5 * MIB


def test_equal_needs_have_one_key() -> None:
    keys = {need_of(platform, photo("image/webp", 30 * MIB)).key for platform in ("IG", "LN")}
    assert len(keys) == 1
    assert need_of("FB", photo("image/webp", 30 * MIB)).key not in keys


def test_nothing_is_made_for_a_platform_that_takes_no_pictures() -> None:
    assert need_of("YT", photo(size_bytes=300 * MIB)) is None


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_a_scaled_size_is_within_the_limits_and_keeps_the_shape(width: int, height: int) -> None:
    limits = FileLimits(types=(), shortest_side_max=1_080, longest_side_max=4_096, pixels=2_000_000)
    made = fitted(limits, width, height)
    if min(width, height) * LONGEST_SIDE // max(width, height) > 1:
        assert min(made) <= 1_080
        assert max(made) <= 4_096
        assert made[0] * made[1] <= 2_000_000
        longer, shorter = max(made), min(made)
        assert abs(longer - max(width, height) * shorter / min(width, height)) <= 0.5
    assert made[0] <= width
    assert made[1] <= height


def test_a_film_within_the_limits_is_sent_as_it_is() -> None:
    assert film_need("IG", film(frame_rate=29.97)) is None
    assert film_need("IG", FileFacts(type="video")) is None


def test_a_film_gets_the_nearest_frame_rate_that_is_taken() -> None:
    assert film_need("IG", film(frame_rate=120)).frame_rate == 60
    assert film_need("IG", film(frame_rate=12.5)).frame_rate == 25
    assert film_need("TT", film(frame_rate=1)).frame_rate == 23


def test_a_film_is_scaled_up_or_down_to_even_sides() -> None:
    need = film_need("TT", film(side=(4_097, 2_161)))
    assert (need.width, need.height) == (4_094, 2_160)
    need = film_need("TT", film(side=(240, 320)))
    assert (need.width, need.height) == (360, 480)


def test_a_film_of_a_large_camera_is_scaled_where_the_platform_takes_no_such_width() -> None:
    sizes = {
        code: film_need(code, film(side=(3_840, 2_160))) for code in ("FB", "IG", "LN", "TT", "TW", "YT")
    }
    assert {(need.width, need.height) for need in (sizes["IG"], sizes["TW"])} == {(1_920, 1_080)}
    assert [sizes[code] for code in ("FB", "LN", "TT", "YT")] == [None] * 4
    tall = film(side=(1_080, 2_400))
    assert film_need("IG", tall) is None
    assert film_need("TW", tall).height == 1_920


def test_a_film_of_more_bits_a_second_than_a_platform_takes_is_compressed() -> None:
    rich = film(size_bytes=60_000_000, video_codec="h264")  # 48 Mbit/s
    needs = [film_need("IG", rich), film_need("TW", rich)]
    assert [need.max_bytes for need in needs] == [31_250_000] * 2
    assert film_need("YT", rich) is film_need("IG", film(size_bytes=31_250_000)) is None


def test_a_film_of_another_type_size_or_codec_becomes_an_mp4() -> None:
    assert film_need("IG", film("video/webm")).mime_type == "video/mp4"
    assert film_need("LN", film(size_bytes=70 * 1024)).min_bytes == 75 * 1024
    assert film_need("LN", film(size_bytes=600 * MIB)).max_bytes == 250 * MIB
    assert film_need("TW", film(video_codec="h264")) is None
    assert film_need("TW", film(video_codec="hevc")).video_codecs == ()
    assert film_need("TW", film(video_codec="h264 yuv422p10le")).video_codecs == ()
    assert film_need("IG", film(video_codec="hevc")) is None


def test_a_film_whose_sound_a_platform_does_not_take_keeps_its_pictures() -> None:
    for sound in ("pcm_s16le", "aac (LC), 48000 Hz, 5.1"):
        unusual = film("video/quicktime", video_codec="h264", audio_codec=sound)
        for platform in ("IG", "LN", "TT", "TW"):
            assert film_need(platform, unusual).video_codecs == ("h264",)
        assert film_need("FB", unusual) is film_need("YT", unusual) is None
    for sound in ("aac", "none", None):
        assert film_need("IG", film(video_codec="h264", audio_codec=sound)) is None


def test_a_film_that_is_only_in_another_container_keeps_its_codec() -> None:
    assert film_need("LN", film("video/quicktime", video_codec="h264")).video_codecs == ("h264",)
    assert film_need("LN", film("video/quicktime")).video_codecs == ("h264",)
    assert film_need("FB", film("video/webm")).video_codecs == ("h264", "hevc")


def test_a_film_that_platforms_refuse_alike_becomes_one_rendition() -> None:
    webm = film("video/webm", size_bytes=20 * MIB, video_codec="vp9")
    assert len({film_need(platform, webm).key for platform in ("FB", "LN", "TW")}) == 1
    assert film_need("IG", webm).frame_rate == 30
    assert film_need("TT", webm) is film_need("YT", webm) is None
