"""X's addresses, our client id and secret there, and the fields of `x_settings` in a post."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from chassis import config
from contracts.record import Record
from publishing.platforms.oauth.base import App


@dataclass(frozen=True, slots=True)
class XSettings:
    """Times are in seconds, sizes in bytes."""

    api_url: str = "https://api.x.com"
    app: App = field(default_factory=App)
    authorize_url: str = "https://x.com"
    #: The name of the parameter for a post's fields that is tried first; the other one is `post.fields`.
    fields_parameter: str = "tweet.fields"
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: Shortest wait between two polls of a video; X itself says when to poll again.
    poll_seconds: float = 0.5
    #: Longest wait of one attempt for processing: an immediate publish must answer within the gateway's 60 s. The next
    #: attempt of a scheduled post resumes the same upload. Our choice.
    poll_limit_seconds: float = 25.0
    #: platforms.md 6: segments of 1 to 2 MB work, 5 MB failed for another client.
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
    """`x_settings` of a post. Others are ignored."""

    #: Who may reply; None: everybody.
    reply_settings: Literal["following", "mentionedUsers", "subscribers", "verified"] | None = None
    #: Descriptions of the photos for people who cannot see them, in the order of the photos.
    alt_texts: Annotated[tuple[Annotated[str, Meta(max_length=1_000)], ...], Meta(max_length=4)] = ()
    #: Labels of the post: its media were made by AI; it is paid for by somebody. None: X's default, no label.
    made_with_ai: bool | None = None
    paid_partnership: bool | None = None
    #: Whether the account has X Premium, whose posts may be long, where X has not told so (`Profile.message_limit`). X
    #: refuses a long post of another account.
    is_premium: bool = False


#: Longest post of an account with X Premium, in weighted characters (platforms/x.md).
PREMIUM_LIMIT = 25_000


def message_limit(settings: Mapping[str, Any]) -> int | None:
    """Returns the longest text where the settings change it."""
    return PREMIUM_LIMIT if settings.get("is_premium") is True else None
