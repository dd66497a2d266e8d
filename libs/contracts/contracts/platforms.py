"""The six platforms: codes, names, guardrails and what each can carry, as data.

Guardrails: spec "Limits". Capabilities and limits: `docs/platforms.md` and its sources.
"""

from contracts.record import Record

HOUR_SECONDS = 3600
DAY_SECONDS = 86_400

#: Spec "Limits", other guardrails.
MIN_SCHEDULE_GAP_SECONDS = 60
BRAND_PER_24H = 500


class Platform(Record):
    """One platform's place in the rules."""

    code: str
    name: str
    #: Publishes per page in any hour and in any 24 hours; None: no cap (decisions: YT).
    per_hour: int | None
    per_24h: int | None
    #: Longest message in the platform's own count (see `length_unit`).
    message_limit: int
    length_unit: str = "characters"
    text_only: bool = True
    photos: int = 10
    videos: int = 1
    mixed_media: bool = False
    first_comment: bool = False
    comments: bool = False
    engagement: bool = False
    comment_limit: int = 8_000


PLATFORMS: dict[str, Platform] = {
    p.code: p
    for p in (
        Platform(code="FB", name="facebook", per_hour=10, per_24h=40, message_limit=63_206, photos=10,
                 first_comment=True, comments=True, engagement=True),
        Platform(code="IG", name="instagram", per_hour=8, per_24h=30, message_limit=2_200, text_only=False, photos=10,
                 videos=10, mixed_media=True, first_comment=True, comments=True, engagement=True, comment_limit=2_200),
        Platform(code="LN", name="linkedin", per_hour=3, per_24h=15, message_limit=3_000,
                 length_unit="escaped characters", photos=20, first_comment=True, comments=True,
                 comment_limit=1_250),
        Platform(code="TT", name="tiktok", per_hour=10, per_24h=50, message_limit=2_200, length_unit="UTF-16 units",
                 text_only=False, photos=35),
        Platform(code="TW", name="twitter", per_hour=50, per_24h=300, message_limit=280,
                 length_unit="weighted characters", photos=4, first_comment=True, comments=True,
                 comment_limit=280),
        Platform(code="YT", name="youtube", per_hour=None, per_24h=None, message_limit=5_000, length_unit="bytes",
                 text_only=False, photos=0, first_comment=True, comments=True),
    )
}  # fmt: skip

_BY_NAME = {p.name: p.code for p in PLATFORMS.values()}


def parse_platform(value: str) -> str | None:
    """The code for a code or full name in any case ("fb", "Facebook" → "FB"); None when it is neither."""
    return value.upper() if value.upper() in PLATFORMS else _BY_NAME.get(value.lower())
