"""Settings of TikTok: its addresses and our app."""

from dataclasses import dataclass, field

from chassis import config
from publishing.platforms.oauth.base import App

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class TikTokSettings:
    """The settings of TikTok. Times are in seconds, sizes in bytes."""

    api_url: str = "https://open.tiktokapis.com"
    #: `client_id` is TikTok's client key.
    app: App = field(default_factory=App)
    authorize_url: str = "https://www.tiktok.com"
    #: Hosts of upload addresses besides `api_url`; files are sent nowhere else.
    upload_hosts: tuple[str, ...] = (".tiktokapis.com",)
    #: Whether TikTok has audited our app. Until then it takes only private posts (platforms.md 5).
    is_audited: bool = False
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: 5 to 64 MB (platforms.md 5). Streamed, never held in memory; a broken chunk is sent again whole, so it should not
    #: be large.
    chunk_bytes: int = 16 * _MIB
    #: Breaks at one chunk after which an attempt gives up, and the first wait after a break. The next attempt continues
    #: the upload.
    resumes: int = 4
    resume_seconds: float = 0.5
    #: An upload address is valid for an hour (platforms.md 5), less ten minutes for the upload itself.
    upload_seconds: float = 3_000.0
    #: How long after sending the last chunk TikTok may still say that it waits for it; after this the chunk counts as
    #: missing and is sent again. Sending a chunk that has arrived does no harm.
    last_chunk_seconds: float = 180.0
    #: First wait between two polls of a post; doubles up to 5 s: TikTok takes 30 polls a minute.
    poll_seconds: float = 1.0
    #: Longest wait of one attempt for processing: an immediate publish must answer within the gateway's 60 s.
    poll_limit_seconds: float = 25.0

    @classmethod
    def from_env(cls) -> "TikTokSettings":
        default = cls()
        return cls(
            api_url=config.text("TIKTOK_API_URL", default.api_url),
            app=App.from_env("TIKTOK_CLIENT"),
            authorize_url=config.text("TIKTOK_AUTHORIZE_URL", default.authorize_url),
            upload_hosts=config.items("TIKTOK_UPLOAD_HOSTS", ",".join(default.upload_hosts)),
            is_audited=config.flag("TIKTOK_AUDITED", default.is_audited),
            read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
        )
