"""Settings of X (addresses, our client id and secret), and the message length that a post's `x_settings` allow."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chassis import config
from publishing.platforms.oauth.base import App


@dataclass(frozen=True, slots=True)
class XSettings:
    """The settings of X. Times are in seconds, sizes in bytes."""

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


#: Longest post of an account with X Premium, in weighted characters (platforms/x.md).
PREMIUM_LIMIT = 25_000


def message_limit(settings: Mapping[str, Any]) -> int | None:
    """Returns the longest message length that a post's settings allow; None if they do not change the limit."""
    return PREMIUM_LIMIT if settings.get("is_premium") is True else None
