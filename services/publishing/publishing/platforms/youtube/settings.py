"""Settings of YouTube: its addresses, and our client id and secret there."""

from dataclasses import dataclass, field

from chassis import config
from publishing.platforms.oauth.base import App

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class YouTubeSettings:
    """The settings of YouTube. Times are in seconds, sizes in bytes."""

    api_url: str = "https://www.googleapis.com"
    upload_url: str = "https://www.googleapis.com"
    app: App = field(default_factory=App)
    authorize_url: str = "https://accounts.google.com"
    token_url: str = "https://oauth2.googleapis.com"  # noqa: S105 - an address
    #: Hosts of upload sessions besides `upload_url`; tokens and files are sent nowhere else.
    upload_hosts: tuple[str, ...] = ("www.googleapis.com", "youtube.googleapis.com")
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: A multiple of 256 KiB, as Google requires. Streamed, never held in memory; after a break at most this much is
    #: sent again.
    chunk_bytes: int = 8 * _MIB
    #: Breaks without progress after which an attempt gives up, and the first wait after a break. The next attempt
    #: continues the session.
    resumes: int = 4
    resume_seconds: float = 0.5
    #: First wait between two polls of a video; doubles up to 5 s.
    poll_seconds: float = 0.5
    #: Longest wait for the end of processing, within the gateway's 60 s. Then an accepted video counts as published: it
    #: has its page, and YouTube may process it for hours. Our choice.
    poll_limit_seconds: float = 20.0

    @classmethod
    def from_env(cls) -> "YouTubeSettings":
        default = cls()
        return cls(
            api_url=config.text("YOUTUBE_API_URL", default.api_url),
            upload_url=config.text("YOUTUBE_UPLOAD_URL", default.upload_url),
            app=App.from_env("YOUTUBE_CLIENT"),
            authorize_url=config.text("YOUTUBE_AUTHORIZE_URL", default.authorize_url),
            token_url=config.text("YOUTUBE_TOKEN_URL", default.token_url),
            upload_hosts=config.items("YOUTUBE_UPLOAD_HOSTS", ",".join(default.upload_hosts)),
            read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
        )
