"""Checks caption and `instagram_settings` of a post. Instagram's addresses are in `meta.settings`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from contracts.errors import ApiError, invalid
from publishing.platforms.post_settings import url_errors

#: platforms.md 3.
_HASHTAGS, _MENTIONS, _ALT_TEXT_CHARACTERS = 30, 20, 1_000


def check_text(message: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns what Instagram would refuse of a caption, except its length."""
    counts = (("hashtags", r"#\w", _HASHTAGS), ("mentions", r"(?<!\w)@\w", _MENTIONS))
    return [
        invalid("message", f"instagram takes at most {limit} {what}")
        for what, pattern, limit in counts
        if len(re.findall(pattern, message)) > limit
    ]


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """Returns what Instagram would refuse. Unknown settings are ignored and not sent."""
    rules: Mapping[str, tuple[Callable[[Any], bool], str]] = {
        **{
            name: (lambda value: isinstance(value, bool), "must be true or false")
            for name in ("share_to_feed", "is_ai_generated")
        },
        "thumb_offset": (
            lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
            "must be a whole number of milliseconds",
        ),
        "alt_text": (
            lambda value: isinstance(value, str) and len(value) <= _ALT_TEXT_CHARACTERS,
            f"must be a text of at most {_ALT_TEXT_CHARACTERS} characters",
        ),
    }
    found = [
        invalid(f"instagram_settings.{name}", complaint)
        for name, (is_good, complaint) in rules.items()
        if settings.get(name) is not None and not is_good(settings[name])
    ]
    if settings.get("cover_url") is not None:
        found += url_errors("instagram_settings.cover_url", settings["cover_url"])
    return found
