"""What `facebook_settings` of a post may say. Where Facebook is reached is `meta.settings`."""

from collections.abc import Mapping
from typing import Any

from contracts.errors import ApiError, invalid
from publishing.platforms.typed import url_complaints


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """What Facebook would not take. What is not named here is handed to nobody and may be anything."""
    field = "facebook_settings.link"
    if settings.get("link") is None:
        return []
    if has_media:
        return [invalid(field, "a post with media shows no link; put it into the message")]
    return url_complaints(field, settings["link"])
