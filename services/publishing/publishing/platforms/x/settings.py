"""How X is reached, and what `x_settings` of a post may say."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from chassis import config
from contracts.record import Record
from publishing.platforms.oauth.base import App


@dataclass(frozen=True, slots=True)
class XSettings:
    """Times in seconds, sizes in bytes."""

    api_url: str = "https://api.x.com"
    app: App = field(default_factory=App)
    authorize_url: str = "https://x.com"
    #: X's newest description says `post.fields` (platforms.md 8); today's API takes the old name.
    fields_parameter: str = "tweet.fields"
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: Shortest wait between two looks at a video; X itself says when to look again.
    poll_seconds: float = 0.5
    #: Longest one attempt waits for processing: a publish at once has to answer within the gateway's 60 s. The next
    #: attempt of a scheduled post goes on with the same upload. Our choice.
    poll_limit_seconds: float = 25.0
    #: platforms.md 6: pieces of 1 to 2 MB go through, 5 MB failed for one peer.
    segment_bytes: int = 1 << 20

    @classmethod
    def from_env(cls) -> "XSettings":
        default = cls()
        return cls(
            api_url=config.text("X_API_URL", default.api_url),
            app=App.from_env("X_CLIENT"),
            authorize_url=config.text("X_AUTHORIZE_URL", default.authorize_url),
            fields_parameter=config.text("X_FIELDS_PARAMETER", default.fields_parameter),
            read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
        )


class XPostSettings(Record):
    """`x_settings` of a post. What is not named here is ignored."""

    #: Who may reply; nobody named: everybody.
    reply_settings: Literal["following", "mentionedUsers", "subscribers", "verified"] | None = None
    #: What the photos show, in their order, for those who cannot see them.
    alt_texts: Annotated[tuple[Annotated[str, Meta(max_length=1_000)], ...], Meta(max_length=4)] = ()
