"""The table in docs/platforms.md says what the code does."""

from pathlib import Path

from contracts.platforms import PLATFORMS, Platform
from publishing.platforms.registry import CONNECTORS

PAGE = Path(__file__).parents[5] / "docs" / "platforms.md"


def row(platform: Platform) -> str:
    """The table's row for a platform."""
    cells = (
        f"{platform.code} ({platform.name})",
        yes(platform.code in CONNECTORS),
        f"{platform.message_limit:,} {platform.length_unit}",
        yes(platform.text_only),
        platform.photos or "no",
        platform.videos,
        yes(platform.mixed_media),
        yes(platform.first_comment),
        f"yes, {platform.comment_limit:,}" if platform.comments else "no",
        yes(platform.engagement),
        f"{platform.per_hour} / {platform.per_24h}" if platform.per_hour else "no cap",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def yes(value: bool) -> str:
    return "yes" if value else "no"


def test_the_table_of_platforms_holds_the_figures_of_the_code() -> None:
    lines = PAGE.read_text().splitlines()
    shown = [line for line in lines if line.startswith(tuple(f"| {code} (" for code in PLATFORMS))]
    assert shown == [row(platform) for platform in PLATFORMS.values()]
