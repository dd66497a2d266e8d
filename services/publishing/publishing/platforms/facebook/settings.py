"""Checks `facebook_settings` of a post. Facebook's addresses are in `meta.settings`."""

from collections.abc import Mapping
from typing import Any

from contracts.errors import ApiError, invalid
from publishing.platforms.post_settings import url_errors


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """Returns what Facebook would refuse. Unknown settings are ignored and not sent."""
    found, field = [], "facebook_settings.link"
    if not isinstance(settings.get("is_ai_generated") or False, bool):
        found.append(invalid("facebook_settings.is_ai_generated", "must be true or false"))
    if settings.get("link") is not None and has_media:
        found.append(invalid(field, "a post with media shows no link; put it into the message"))
    elif settings.get("link") is not None:
        found += url_errors(field, settings["link"])
    return found
