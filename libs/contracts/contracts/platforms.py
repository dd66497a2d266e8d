"""The platforms as data: codes, names, guardrails and capabilities.

The guardrails come from docs/spec.md, "Limits"; capabilities and limits from docs/platforms.md and its sources. To a
platform belong its row here, a folder in publishing and a part of the simulator (docs/adding-a-platform.md).
"""

from typing import Annotated

from msgspec import Meta

from contracts.record import Record

HOUR_SECONDS = 3600
DAY_SECONDS = 86_400

#: Spec "Limits", other guardrails.
MIN_SCHEDULE_GAP_SECONDS = 60
BRAND_PER_24H = 500


MIB = 2**20
JPEG, PNG, GIF, WEBP = "image/jpeg", "image/png", "image/gif", "image/webp"
MP4, MOV, WEBM = "video/mp4", "video/quicktime", "video/webm"


class FileLimits(Record):
    """Limits of one kind of file. Bounds are inclusive; None means no bound. MB is 2^20 bytes."""

    types: tuple[str, ...]
    size_bytes: tuple[int, int | None] = (1, None)
    seconds: tuple[float, float] | None = None
    #: Frames a second. A file's own rate is rounded first: 23.976 and 29.97 are usual.
    frame_rate: tuple[int, int] | None = None
    #: Pixels: the least and the most of the shorter side, the most of the longer side, and of the whole picture.
    shortest_side: int | None = None
    shortest_side_max: int | None = None
    longest_side_max: int | None = None
    pixels: int | None = None
    #: The most pixels from left to right, as displayed.
    width_max: int | None = None
    #: Width to height.
    aspect: tuple[float, float] | None = None
    #: The most bits a second of a whole video, on average.
    bits_a_second: int | None = None
    #: Codecs of a video's pictures, as ffmpeg names them; empty: any.
    video_codecs: tuple[str, ...] = ()


class Platform(Record):
    """The name, limits and abilities of one platform."""

    code: str
    name: str
    #: The name as people write it.
    title: str
    #: Publishes per page in any hour and in any 24 hours; None: no cap (decisions: YT).
    per_hour: int | None
    per_24h: int | None
    #: Longest message, in the platform's own unit (see `length_unit`).
    message_limit: int
    #: By kind: photo, video, gif. A GIF counts as a photo where it has no limits of its own.
    files: dict[str, FileLimits]
    #: Longest message of a post with photos; None: as `message_limit`.
    photo_message_limit: int | None = None
    length_unit: str = "characters"
    text_only: bool = True
    photos: int = 10
    videos: int = 1
    mixed_media: bool = False
    first_comment: bool = False
    comments: bool = False
    engagement: bool = False
    comment_limit: int = 8_000
    #: Kinds of account that people link through different apps of ours; empty: there is one login.
    account_types: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The platform's short name in code, folders and settings. It is the platform's full name, except for X: its
        short name is `x`, its full name `twitter`.
        """
        return self.title.lower().replace(" ", "_")

    @property
    def settings_field(self) -> str:
        """The name of a post's field with settings for this platform, such as `facebook_settings`."""
        return f"{self.folder}_settings"


PLATFORMS: dict[str, Platform] = {
    p.code: p
    for p in (
        Platform(
            code="FB", name="facebook", title="Facebook", per_hour=10, per_24h=40, message_limit=63_206, photos=10,
            first_comment=True, comments=True, engagement=True,
            files={
                # "Files can not exceed 10MB" (reference of page photos, copy of 11 September 2026).
                "photo": FileLimits(types=(JPEG, PNG, GIF), size_bytes=(1, 10 * MIB)),
                "video": FileLimits(types=(MP4, MOV), size_bytes=(1, 10 * 1024 * MIB), seconds=(0, 4 * 3_600)),
            },
        ),
        Platform(
            code="IG", name="instagram", title="Instagram", per_hour=8, per_24h=30, message_limit=2_200,
            text_only=False, photos=10, videos=10, mixed_media=True, first_comment=True, comments=True,
            engagement=True, comment_limit=2_200,
            files={
                # No bounds in pixels: Instagram scales to a width of 320 to 1,440.
                "photo": FileLimits(
                    types=(JPEG,), size_bytes=(1, 8 * MIB), aspect=(3 / 4, 1.91)
                ),
                # "Frame rate: 23-60 FPS", "HEVC or H264", "Maximum columns (horizontal pixels): 1920", "VBR, 25Mbps
                # maximum" (reference of IG User Media, for reels and carousels).
                "video": FileLimits(
                    types=(MP4, MOV), size_bytes=(1, 1024 * MIB), seconds=(3, 15 * 60), frame_rate=(23, 60),
                    width_max=1_920, bits_a_second=25_000_000, video_codecs=("h264", "hevc"),
                ),
            },
        ),
        Platform(
            code="LN", name="linkedin", title="LinkedIn", per_hour=3, per_24h=15, message_limit=3_000,
            length_unit="escaped characters", photos=20, first_comment=True, comments=True, comment_limit=1_250,
            account_types=("member", "organization"),
            files={
                # "Less than 36,152,320 pixels" (Images API).
                "photo": FileLimits(
                    types=(JPEG, PNG, GIF), size_bytes=(1, 8 * MIB), pixels=36_152_319
                ),
                # H.264 is what all guides to LinkedIn name; HEVC few.
                "video": FileLimits(
                    types=(MP4,), size_bytes=(75 * 1024, 500 * MIB), seconds=(3, 30 * 60), video_codecs=("h264",)
                ),
            },
        ),
        Platform(
            code="TT", name="tiktok", title="TikTok", per_hour=10, per_24h=50, message_limit=2_200,
            photo_message_limit=4_000, length_unit="UTF-16 units", text_only=False, photos=35,
            files={
                "photo": FileLimits(
                    types=(JPEG, WEBP), size_bytes=(1, 20 * MIB), shortest_side_max=1_080
                ),
                "video": FileLimits(
                    types=(MP4, MOV, WEBM), size_bytes=(1, 4096 * MIB), seconds=(0, 10 * 60),
                    frame_rate=(23, 60), shortest_side=360, longest_side_max=4_096,
                    video_codecs=("h264", "hevc", "vp8", "vp9"),
                ),
            },
        ),
        Platform(
            code="TW", name="twitter", title="X", per_hour=50, per_24h=300, message_limit=280,
            length_unit="weighted characters", photos=4, first_comment=True, comments=True, comment_limit=280,
            files={
                "photo": FileLimits(types=(JPEG, PNG, WEBP), size_bytes=(1, 5 * MIB)),
                "gif": FileLimits(types=(GIF,), size_bytes=(1, 15 * MIB)),
                # H.264 alone, at most 60 frames a second: docs.x.com, "Best practices" of media uploads. The other two
                # bounds: docs/platforms/x.md.
                "video": FileLimits(
                    types=(MP4, MOV), size_bytes=(1, 512 * MIB), seconds=(0.5, 140), frame_rate=(1, 60),
                    shortest_side=32, longest_side_max=1_920, bits_a_second=25_000_000, aspect=(0.333, 3),
                    video_codecs=("h264",),
                ),
            },
        ),
        Platform(
            code="YT", name="youtube", title="YouTube", per_hour=None, per_24h=None, message_limit=5_000,
            length_unit="bytes", text_only=False, photos=0, first_comment=True, comments=True,
            files={"video": FileLimits(types=(MP4, MOV, WEBM), size_bytes=(1, 256 * 1024 * MIB))},
        ),
    )
}  # fmt: skip

#: A platform's code. Its values are only described, not enforced: another release may know more of them.
PlatformCode = Annotated[str, Meta(extra_json_schema={"enum": list(PLATFORMS)})]
#: A platform in a request (`parse_platform`).
PlatformName = Annotated[
    str,
    Meta(
        extra_json_schema={"enum": list(PLATFORMS)}, description="Full names, in any case, are accepted too."
    ),
]
_BY_NAME = {name: p.code for p in PLATFORMS.values() for name in (p.name, p.title.lower())}

#: What a request may name a platform, for error messages.
PLATFORM_NAMES = ", ".join((*PLATFORMS, *_BY_NAME))


def parse_platform(value: str) -> str | None:
    """Finds a platform by code, full name or title, in any case ("fb", "twitter", "X"). Returns its code, or None."""
    return value.upper() if value.upper() in PLATFORMS else _BY_NAME.get(value.lower())
