"""Checks the `facebook_settings` of a post. The addresses of Facebook's API are in `meta.settings`."""

from collections.abc import Mapping
from typing import Any

from contracts.errors import ApiError, invalid
from publishing.platforms.plugin import url_errors


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """Returns an error for each of a post's `facebook_settings` that Facebook would refuse."""
    field = "facebook_settings.link"
    if settings.get("link") is None:
        return []
    if has_media:
        return [invalid(field, "a post with media shows no link; put it into the message")]
    return url_errors(field, settings["link"])
