"""Checks caption and `instagram_settings` of a post. The addresses of Instagram's API are in `meta.settings`."""

import re
from collections.abc import Mapping
from typing import Any

from contracts.errors import ApiError, invalid
from publishing.platforms.plugin import url_errors

#: platforms.md 3.
_HASHTAGS, _MENTIONS = 30, 20


def check_text(message: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns an error for each property of a caption that Instagram would refuse, except its length."""
    counts = (("hashtags", r"#\w", _HASHTAGS), ("mentions", r"(?<!\w)@\w", _MENTIONS))
    return [
        invalid("message", f"Instagram takes at most {limit} {what}")
        for what, pattern, limit in counts
        if len(re.findall(pattern, message)) > limit
    ]


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """Returns an error for each of a post's `instagram_settings` that Instagram would refuse."""
    if settings.get("cover_url") is None:
        return []
    return url_errors("instagram_settings.cover_url", settings["cover_url"])
