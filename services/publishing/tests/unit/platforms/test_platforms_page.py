"""The table in docs/platforms.md agrees with the code."""

from pathlib import Path

from contracts.platforms import PLATFORMS, FileLimits, Platform
from publishing.platforms.registry import PLUGINS

PAGE = Path(__file__).parents[5] / "docs" / "platforms.md"


def row(platform: Platform) -> str:
    """Returns the table's row for a platform."""
    cells = (
        f"{platform.code} ({platform.name})",
        yes(platform.code in PLUGINS),
        message(platform),
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


def file_row(code: str, kind: str, limits: FileLimits) -> str:
    """Returns the table's row for one kind of file."""
    pixels = [
        limits.aspect and f"{limits.aspect[0]:g}:1 to {limits.aspect[1]:g}:1",
        limits.pixels and f"at most {limits.pixels:,} in all",
        limits.shortest_side and f"at least {limits.shortest_side} on the shorter side",
        limits.shortest_side_max and f"at most {limits.shortest_side_max:,} on the shorter side",
        limits.longest_side_max and f"at most {limits.longest_side_max:,} on the longer side",
        limits.width_max and f"at most {limits.width_max:,} from left to right",
        limits.frame_rate and f"{limits.frame_rate[0]} to {limits.frame_rate[1]} frames a second",
        limits.bits_a_second and f"at most {limits.bits_a_second:,} bits a second",
    ]
    cells = (
        code,
        kind,
        ", ".join(limits.types),
        span(limits.size_bytes),
        span(limits.seconds) if limits.seconds else "",
        ", ".join(text for text in pixels if text),
    )
    return f"| {' | '.join(cells)} |"


def message(platform: Platform) -> str:
    with_photos = f" ({platform.photo_message_limit:,} with photos)" if platform.photo_message_limit else ""
    return f"{platform.message_limit:,} {platform.length_unit}{with_photos}"


def span(bounds: tuple[float, float | None]) -> str:
    return (
        f"{bounds[0]:,} to {bounds[1]:,}" if bounds[0] > 1 or bounds[0] == 0.5 else f"at most {bounds[1]:,}"
    )


def yes(value: bool) -> str:
    return "yes" if value else "no"


def test_the_table_of_platforms_holds_the_figures_of_the_code() -> None:
    lines = PAGE.read_text().splitlines()
    shown = [line for line in lines if line.startswith(tuple(f"| {code} (" for code in PLATFORMS))]
    assert shown == [row(platform) for platform in PLATFORMS.values()]


def test_the_table_of_files_holds_the_figures_of_the_code() -> None:
    lines = PAGE.read_text().splitlines()
    shown = [line for line in lines if line.startswith(tuple(f"| {code} | " for code in PLATFORMS))]
    rows = [(code, kind, limits) for code, row in PLATFORMS.items() for kind, limits in row.files.items()]
    assert shown == [file_row(*row) for row in rows]
