"""Checks what YouTube says about a channel."""

from collections.abc import Iterator

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.settings import YouTubeSettings


def facts(settings: YouTubeSettings, account: Account) -> Iterator[Fact]:
    def long_uploads() -> tuple[bool, str]:
        channels = YouTubeConnector(settings).channels(account, "status")
        found = (channels[0].get("status") or {}).get("longUploadsStatus") if channels else None
        return found == "allowed", str(found or "not told")

    def uploads() -> tuple[bool, str]:
        channels = YouTubeConnector(settings).channels(account, "contentDetails")
        lists = (channels[0].get("contentDetails") or {}).get("relatedPlaylists") if channels else None
        found = (lists or {}).get("uploads")
        return bool(found), str(found or "none")

    yield ask(
        "list of the channel's uploads",
        "there is one",
        "After a lost answer a video cannot be looked up, and is never sent again: see docs/platforms/youtube.md.",
        uploads,
    )
    yield ask(
        "videos of more than 15 minutes",  # developers.google.com/youtube/v3/docs/channels, status.longUploadsStatus
        "allowed",
        "YouTube refuses longer videos until the channel's owner has verified a phone number: youtube.com/verify.",
        long_uploads,
    )
