"""Reads what each platform accepts from the API's description (`x-platforms`), so that no rule is copied here."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dashboard.settings import Setting, settings_of
from posthaste import Posthaste

#: The description changes with a release of the API.
_KEPT_SECONDS = 600.0


@dataclass(frozen=True)
class Platform:
    code: str
    #: The longest message, in the platform's own unit.
    message_limit: int
    #: The longest message of a post with photos; None: the same.
    photo_message_limit: int | None
    length_unit: str
    text_only: bool
    photos: int
    videos: int
    mixed_media: bool
    first_comment: bool
    comments: bool
    comment_limit: int

    #: The field of a post with its settings, such as `youtube_settings`, and what a form asks for.
    settings_field: str
    settings: tuple[Setting, ...]

    @classmethod
    def of(cls, row: dict[str, Any], description: dict[str, Any]) -> "Platform":
        facts = {name: row[name] for name in cls.__dataclass_fields__ if name in row}
        field = f"{row['title'].lower()}_settings"
        found = settings_of(description, field, f"{row['title']}PostSettings")
        return cls(**facts, settings_field=field, settings=found)


Platforms = dict[str, Platform]

_kept: tuple[float, Platforms] = (0.0, {})


def recent_platforms(client: Posthaste) -> Callable[[], Platforms]:
    """Returns a function that returns platform code → what the platform accepts. It reads the API's description at most
    every ten minutes.
    """

    def find() -> Platforms:
        global _kept
        read_at, found = _kept
        if not found or time.monotonic() - read_at > _KEPT_SECONDS:
            description = client.get_description()
            rows: dict[str, dict[str, Any]] = description["x-platforms"]
            found = {code: Platform.of(row, description) for code, row in rows.items()}
            _kept = time.monotonic(), found
        return found

    return find
