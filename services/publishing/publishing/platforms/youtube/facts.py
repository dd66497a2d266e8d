"""What YouTube tells about a channel."""

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

    yield ask(
        "videos of more than 15 minutes",  # developers.google.com/youtube/v3/docs/channels, status.longUploadsStatus
        "allowed",
        "YouTube refuses longer videos until the channel's owner has verified a phone number: youtube.com/verify.",
        long_uploads,
    )
