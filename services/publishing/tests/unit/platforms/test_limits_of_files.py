"""Each platform's limits for one file, tried with files just inside and just outside the limits in platforms.md."""

from typing import Any

import pytest

from contracts.platforms import PLATFORMS
from publishing.platforms.base import MediaSource
from publishing.platforms.limits import changes, check_files

MIB = 2**20
KIB = 2**10


def photo(
    content_type: str = "image/jpeg", size_bytes: int = 10_000, side: Any = (1000, 1000)
) -> MediaSource:
    width, height = side
    return MediaSource("photo", content_type=content_type, size_bytes=size_bytes, width=width, height=height)


def video(
    seconds: float = 10,
    content_type: str = "video/mp4",
    size_bytes: int = MIB,
    side: Any = (720, 1280),
    frame_rate: float | None = None,
) -> Any:
    return MediaSource(
        "video", content_type=content_type, size_bytes=size_bytes, width=side[0], height=side[1],
        duration_seconds=seconds, frame_rate=frame_rate,
    )  # fmt: skip


def setting_errors(platform: str, *files: MediaSource, before_renditions: bool = False) -> list[str]:
    named = [(f"media_ids[{number}]", file) for number, file in enumerate(files)]
    found = check_files(platform, named, len(files), before_renditions=before_renditions)
    return [error.message for error in found]


@pytest.mark.parametrize(
    ("platform", "file"),
    [
        ("FB", photo(size_bytes=10 * MIB)), ("FB", photo("image/png")), ("FB", photo("image/gif")),
        ("FB", photo("image/webp", 20 * MIB)), ("FB", video(14_400, size_bytes=10_240 * MIB)),
        ("FB", video(content_type="video/quicktime")),
        ("IG", photo(size_bytes=8 * MIB)), ("IG", photo(side=(1080, 1350))), ("IG", photo(side=(1080, 566))),
        ("IG", photo(side=(200, 200))), ("IG", photo(side=(4032, 3024))), ("IG", photo(side=(3024, 4032))),
        ("IG", photo("image/png", 20 * MIB)), ("IG", photo("image/webp")), ("IG", video(3)),
        ("IG", video(900, size_bytes=1_024 * MIB)),
        ("IG", video(frame_rate=23.976)), ("IG", video(frame_rate=60)),
        ("LN", photo(size_bytes=8 * MIB)), ("LN", photo(side=(6_012, 6_013))), ("LN", video(3, size_bytes=75 * KIB)),
        ("LN", video(1_800, size_bytes=500 * MIB)),
        ("TT", photo("image/webp", 20 * MIB)), ("TT", photo("image/png")), ("TT", video(600, size_bytes=4_096 * MIB)),
        ("TT", video(content_type="video/webm", side=(360, 640))), ("TT", video(side=(4_096, 2_160))),
        ("TT", photo(side=(1_080, 1_920))), ("TT", video(frame_rate=22.6)), ("TT", video(frame_rate=60.4)),
        ("TW", video(frame_rate=120)),
        ("TW", photo("image/webp", 5 * MIB)), ("TW", photo("image/gif", 15 * MIB)), ("TW", video(0.5)),
        ("TW", video(140, size_bytes=512 * MIB)), ("TW", video(side=(32, 96))), ("TW", video(side=(1_920, 1_080))),
        ("YT", video(40_000, "video/webm", 256 * 1_024 * MIB)),
    ],
)  # fmt: skip
def test_a_file_at_the_bound_passes(platform: str, file: MediaSource) -> None:
    assert setting_errors(platform, file, before_renditions=True) == []


@pytest.mark.parametrize(
    ("platform", "file", "words"),
    [
        ("FB", photo(size_bytes=10 * MIB + 1), "at most 10,485,760 bytes"),
        ("FB", video(14_400.1), "at most 14,400 seconds"),
        ("FB", video(size_bytes=10_240 * MIB + 1), "at most 10,737,418,240 bytes"),
        ("FB", video(content_type="video/webm"), "as video/mp4, video/quicktime, this one is video/webm"),
        ("IG", photo(size_bytes=8 * MIB + 1), "at most 8,388,608 bytes"), ("IG", photo("image/gif"), "image/gif"),
        ("IG", photo(side=(1080, 1442)), "between 0.75:1 and 1.91:1, this one is 1080 x 1442"),
        ("IG", video(2.9), "at least 3 seconds"), ("IG", video(900.5), "at most 900 seconds"),
        ("IG", video(size_bytes=1_024 * MIB + 1), "at most 1,073,741,824"),
        ("IG", video(frame_rate=15), "at least 23 frames a second, this one has 15"),
        ("LN", photo(size_bytes=8 * MIB + 1), "bytes"), ("LN", photo(side=(5_120, 7_061)), "at most 36,152,319 pixels"),
        ("LN", video(size_bytes=75 * KIB - 1), "at least 76,800 bytes"), ("LN", video(1_801), "at most 1,800"),
        ("LN", video(content_type="video/quicktime"), "this one is video/quicktime"),
        ("TT", photo("image/gif"), "image/gif"), ("TT", photo(size_bytes=20 * MIB + 1), "bytes"),
        ("TT", photo(side=(1_086, 1_448)), "at most 1,080 pixels on their shorter side, this one has 1,086"),
        ("TT", video(601), "at most 600 seconds"), ("TT", video(side=(359, 640)), "at least 360 pixels on"),
        ("TT", video(side=(4_097, 2_160)), "at most 4,096 pixels on their longer side"),
        ("TT", video(frame_rate=22.4), "at least 23 frames a second"),
        ("TT", video(frame_rate=60.6), "at most 60 frames a second, this one has 61"),
        ("TW", photo(size_bytes=5 * MIB + 1), "photos of at most 5,242,880"),
        ("TW", photo("image/gif", 15 * MIB + 1), "gifs of at most 15,728,640"),
        ("TW", video(0.4), "at least 0.5 seconds"),
        ("TW", video(side=(31, 40)), "at least 32 pixels on their shorter side"),
        ("TW", video(side=(200, 700)), "between 0.333:1 and 3:1"),
        ("TW", video(140.1), "at most 140 seconds"), ("YT", video(size_bytes=256 * 1_024 * MIB + 1), "bytes"),
    ],
)  # fmt: skip
def test_a_file_past_the_bound_is_found(platform: str, file: MediaSource, words: str) -> None:
    [complaint] = setting_errors(platform, file)
    assert complaint.startswith(f"media_ids[0]: {PLATFORMS[platform].title} takes ")
    assert words in complaint


@pytest.mark.parametrize("platform", ["FB", "IG", "LN", "TT", "TW"])
@pytest.mark.parametrize("content_type", ["image/jpeg", "image/png", "image/webp", "image/gif"])
def test_a_picture_is_never_refused_for_its_type_size_or_pixels(platform: str, content_type: str) -> None:
    for side in ((4_032, 3_024), (12_000, 9_000), (3_060, 4_080)):
        assert setting_errors(platform, photo(content_type, 40 * MIB, side), before_renditions=True) == []


def test_a_picture_that_would_have_to_be_cropped_is_refused_with_the_range() -> None:
    [complaint] = setting_errors("IG", photo("image/png", 40 * MIB, (1_080, 564)), before_renditions=True)
    assert "between 0.75:1 and 1.91:1, this one is" in complaint


def test_what_will_be_made_of_a_file_is_told_in_words() -> None:
    def told(platform: str, file: MediaSource) -> list[str]:
        return [change.message for change in changes(platform, [("media_ids[0]", file)])]

    assert told("TT", photo(side=(4_032, 3_024))) == ["will be scaled to 1,440 × 1,080 for TikTok"]
    assert told("IG", photo("image/png")) == ["will be converted to JPEG for Instagram"]
    assert told("IG", photo("image/gif")) == ["will be its first picture, as a JPEG for Instagram"]
    assert told("TW", photo(size_bytes=6 * MIB)) == ["will be compressed to at most 5,242,880 bytes for X"]
    assert told("IG", photo()) == []


def test_a_gif_goes_to_x_only_alone_and_elsewhere_is_a_photo() -> None:
    gif = photo("image/gif")
    assert "only alone" in setting_errors("TW", gif, photo())[0]
    assert setting_errors("FB", gif, photo()) == []


def test_every_file_is_judged_and_named() -> None:
    found = setting_errors("IG", photo(), photo("image/gif"), video(1))
    assert [text.partition(":")[0] for text in found] == ["media_ids[1]", "media_ids[2]"]


def test_what_is_not_known_is_not_judged() -> None:
    for platform in PLATFORMS:
        assert setting_errors(platform, MediaSource("video"), MediaSource("photo")) == []
