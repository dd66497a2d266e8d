"""The platforms' limits in `/openapi.json`: the contract's table, as data and as Markdown. Pure."""

from typing import Any

import msgspec

from contracts.platforms import PLATFORMS, Platform

_HEAD = (
    "Platform",
    "Message",
    "Without media",
    "Photos",
    "Videos",
    "Both",
    "First comment",
    "Comments",
    "Engagement",
)


def for_programs() -> dict[str, dict[str, Any]]:
    """Returns all fields of the table, by platform code."""
    return {code: msgspec.to_builtins(platform) for code, platform in PLATFORMS.items()}


def for_people() -> str:
    """Returns the table in Markdown, without the guardrails."""
    rows = [_HEAD, ("-",) * len(_HEAD), *map(_row, PLATFORMS.values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(platform: Platform) -> tuple[str, ...]:
    return (
        f"{platform.code} ({platform.name})",
        _message(platform),
        _yes(platform.text_only),
        str(platform.photos),
        str(platform.videos),
        _yes(platform.mixed_media),
        _yes(platform.first_comment),
        f"{platform.comment_limit:,}" if platform.comments else "no",
        _yes(platform.engagement),
    )


def _message(platform: Platform) -> str:
    with_photos = f" ({platform.photo_message_limit:,} with photos)" if platform.photo_message_limit else ""
    return f"{platform.message_limit:,} {platform.length_unit}{with_photos}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
