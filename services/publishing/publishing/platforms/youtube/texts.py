"""Checks title, description and tags of a video, and builds the JSON with which its upload begins. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from contracts.errors import ApiError, invalid
from contracts.post_settings import YouTubePostSettings
from publishing.platforms.plugin import parse

#: platforms.md 7.
_TITLE_CHARACTERS = 100
_TAGS_CHARACTERS = 500
_FIELD = "youtube_settings"


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """Returns an error if YouTube would refuse the tags of a post's `youtube_settings`."""
    if tags_length(settings.get("tags") or ()) <= _TAGS_CHARACTERS:
        return []
    return [invalid(f"{_FIELD}.tags", f"YouTube takes at most {_TAGS_CHARACTERS} characters of tags")]


def check_text(message: str, settings: Mapping[str, Any]) -> list[ApiError]:
    """Returns an error for each property of a text that YouTube would refuse. The title is in the settings or in the
    text."""
    found = []
    if settings.get("title") is None and not title_from(message):
        found.append(
            invalid(f"{_FIELD}.title", "a video needs a title, or a message whose first line is one")
        )
    if "<" in message or ">" in message:
        found.append(invalid("message", "YouTube takes no < and no >"))
    return found


def title_from(message: str) -> str:
    """Returns the title for a video that has none: the first line of its message, cut to YouTube's longest title."""
    return next((line.strip() for line in message.splitlines() if line.strip()), "")[
        :_TITLE_CHARACTERS
    ].strip()


def tags_length(tags: Sequence[str]) -> int:
    """Returns the length of the tags as YouTube counts it, with commas between tags and quotes around a tag with a
    blank."""
    return sum(len(tag) + (2 if " " in tag else 0) for tag in tags) + max(len(tags) - 1, 0)


def video_of(message: str, settings: Mapping[str, Any], *, is_ai_made: bool = False) -> dict[str, Any]:
    """Builds the JSON `video` (title, text, privacy …) that the first request of an upload to YouTube sends."""
    asked = parse(YouTubePostSettings, settings)
    snippet: dict[str, Any] = {
        "title": asked.title or title_from(message),
        "description": message,
        "categoryId": asked.category_id,
    }
    if asked.tags:
        snippet["tags"] = list(asked.tags)
    status: dict[str, Any] = {"privacyStatus": asked.privacy}
    if asked.made_for_kids is not None:
        status["selfDeclaredMadeForKids"] = asked.made_for_kids
    if is_ai_made or asked.contains_synthetic_media is not None:
        status["containsSyntheticMedia"] = is_ai_made or asked.contains_synthetic_media
    return {"snippet": snippet, "status": status}


def notifies_subscribers(settings: Mapping[str, Any]) -> bool:
    """Whether YouTube tells the channel's subscribers about the video."""
    return parse(YouTubePostSettings, settings).notify_subscribers
