"""The service's settings: the only reader of its environment."""

from collections.abc import Mapping

from msgspec import field

from chassis import config
from contracts.platforms import DAY_SECONDS, PLATFORMS
from contracts.record import Record
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta import MetaSettings
from publishing.platforms.oauth.base import App
from publishing.platforms.oauth.linkedin import LinkedInApp
from publishing.platforms.oauth.meta import MetaApp
from publishing.platforms.oauth.tiktok import TikTokApp
from publishing.platforms.oauth.x import XApp
from publishing.platforms.oauth.youtube import YouTubeApp
from publishing.platforms.registry import Apps, PlatformSettings
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.x.settings import XSettings
from publishing.platforms.youtube.settings import YouTubeSettings
from publishing.poll_times import POLLED, PUSHED, SPARING, Stages, parse_stages


class Settings(Record):
    """Times in seconds, sizes in bytes. README.md has the table of variables."""

    credential_keys: tuple[str, ...]
    platforms: PlatformSettings
    #: Hosts this deployment routes itself, past the address check (local-stack.md).
    outbound_host_map: Mapping[str, str]
    #: Where a client reconnects an expired page; `{page_id}` is filled in.
    reconnect_url: str
    #: A post found due later than this is not sent (decisions).
    publish_window_seconds: float
    #: First look at an unknown outcome (local-stack.md: 5 in the local stack), and when "not there" is believed.
    reconcile_first_seconds: float
    reconcile_settle_seconds: float
    #: A claim lapses this long after its process stopped renewing it. Our choice.
    lease_seconds: float
    #: The same for the renewal of a page's tokens; nobody waits for it, and it outlasts an outage of the database.
    renewal_lease_seconds: float
    #: Pages sent to at once, and posts claimed for one of them at a time. Our choice.
    lanes: int
    posts_per_lane: int
    #: Calls to platforms with a client waiting, at once; well below MAX_WORKERS. Our choice.
    live_calls: int
    #: Largest file a media URL may lead to, how long its beginning may take, and all of it. Our choice.
    max_media_bytes: int
    media_timeout_seconds: float
    media_transfer_seconds: float
    #: What the public URLs of our own uploads begin with (`content.own_file`).
    own_media: tuple[str, ...]
    #: How often a post's comments are asked for, by its age, for each platform; and where that tells us by itself.
    polls: Mapping[str, Stages] = field(default_factory=dict)
    polls_pushed: Stages = parse_stages(PUSHED)
    #: Posts that each process asks for in a second, and calls for comments at once. Our choice.
    polls_per_second: float = 50.0
    poll_calls: int = 16

    #: Our apps, for linking; and where browsers come back to, below the gateway's public address.
    apps: Apps = Apps()
    public_url: str = "http://127.0.0.1:8080"

    @property
    def hears_hooks(self) -> bool:
        """Whether platforms can tell us of comments by themselves."""
        return bool(self.platforms.meta.app_secret and self.platforms.meta.verify_token)

    @classmethod
    def from_env(cls) -> "Settings":
        public = config.text("PUBLIC_BASE_URL", "http://127.0.0.1:8080")
        storage = config.text("MEDIA_PUBLIC_BASE_URL", "")
        return cls(
            credential_keys=config.items("CREDENTIAL_KEYS", None),
            platforms=PlatformSettings(
                meta=_meta(), linkedin=_linkedin(), x=_x(), youtube=_youtube(), tiktok=_tiktok()
            ),
            apps=_apps(),
            public_url=public.rstrip("/"),
            outbound_host_map=config.mapping("OUTBOUND_HOST_MAP"),
            reconnect_url=config.text("RECONNECT_URL", f"{public}/pages/{{page_id}}/reconnect"),
            publish_window_seconds=config.number("PUBLISH_WINDOW_SECONDS", DAY_SECONDS),
            reconcile_first_seconds=config.number("RECONCILE_FIRST_SECONDS", 30),
            reconcile_settle_seconds=config.number("RECONCILE_SETTLE_SECONDS", 90),
            lease_seconds=config.number("LEASE_SECONDS", 20),
            renewal_lease_seconds=config.number("RENEWAL_LEASE_SECONDS", 120),
            lanes=config.integer("PUBLISH_LANES", 48),
            posts_per_lane=config.integer("PUBLISH_POSTS_PER_LANE", 10),
            live_calls=config.integer("PUBLISH_LIVE_CALLS", 40),
            max_media_bytes=config.integer("MAX_MEDIA_BYTES", 1024 * 2**20),
            media_timeout_seconds=config.number("MEDIA_TIMEOUT_SECONDS", 20),
            media_transfer_seconds=config.number("MEDIA_TRANSFER_SECONDS", 600),
            own_media=tuple(
                f"{base.rstrip('/')}/" for base in (f"{public.rstrip('/')}/media", storage) if base
            ),
            polls={
                code: _stages(
                    f"COMMENT_POLLS_{code}", config.text("COMMENT_POLLS", SPARING.get(code, POLLED))
                )
                for code, platform in PLATFORMS.items()
                if platform.comments
            },
            polls_pushed=_stages("COMMENT_POLLS_PUSHED", PUSHED),
            polls_per_second=config.number("COMMENT_POLLS_PER_SECOND", 50),
            poll_calls=config.integer("COMMENT_CALLS", 16),
        )


def _stages(name: str, default: str) -> Stages:
    """Raises ConfigError."""
    try:
        return parse_stages(config.text(name, default))
    except ValueError as error:
        raise config.ConfigError(f"{name} must be age=wait in seconds, comma-separated: {error}") from error


def _meta() -> MetaSettings:
    default = MetaSettings()
    return MetaSettings(
        facebook_url=config.text("FACEBOOK_API_URL", default.facebook_url),
        instagram_url=config.text("INSTAGRAM_API_URL", default.instagram_url),
        graph_version=config.text("META_GRAPH_VERSION", default.graph_version),
        app_secret=config.text("META_APP_SECRET", default.app_secret),
        instagram_app_secret=config.text("INSTAGRAM_APP_SECRET", default.instagram_app_secret),
        verify_token=config.text("META_VERIFY_TOKEN", default.verify_token),
        read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
    )


def _linkedin() -> LinkedInSettings:
    default = LinkedInSettings()
    return LinkedInSettings(
        api_url=config.text("LINKEDIN_API_URL", default.api_url),
        version=config.text("LINKEDIN_VERSION", default.version),
        upload_hosts=config.items("LINKEDIN_UPLOAD_HOSTS", ",".join(default.upload_hosts)),
        read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
    )


def _x() -> XSettings:
    default = XSettings()
    return XSettings(
        api_url=config.text("X_API_URL", default.api_url),
        fields_parameter=config.text("X_FIELDS_PARAMETER", default.fields_parameter),
        read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
    )


def _youtube() -> YouTubeSettings:
    default = YouTubeSettings()
    return YouTubeSettings(
        api_url=config.text("YOUTUBE_API_URL", default.api_url),
        upload_url=config.text("YOUTUBE_UPLOAD_URL", default.upload_url),
        upload_hosts=config.items("YOUTUBE_UPLOAD_HOSTS", ",".join(default.upload_hosts)),
        read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
    )


def _tiktok() -> TikTokSettings:
    default = TikTokSettings()
    return TikTokSettings(
        api_url=config.text("TIKTOK_API_URL", default.api_url),
        upload_hosts=config.items("TIKTOK_UPLOAD_HOSTS", ",".join(default.upload_hosts)),
        is_audited=config.flag("TIKTOK_AUDITED", default.is_audited),
        read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
    )


def _apps() -> Apps:
    meta, linkedin, tiktok, x, youtube = MetaApp(), LinkedInApp(), TikTokApp(), XApp(), YouTubeApp()
    return Apps(
        meta=MetaApp(
            app_id=config.text("META_APP_ID", meta.app_id),
            authorize_url=config.text("FACEBOOK_AUTHORIZE_URL", meta.authorize_url),
        ),
        linkedin=LinkedInApp(
            app=_app("LINKEDIN_CLIENT"),
            oauth_url=config.text("LINKEDIN_OAUTH_URL", linkedin.oauth_url),
            has_pages=config.flag("LINKEDIN_COMPANY_PAGES", linkedin.has_pages),
        ),
        tiktok=TikTokApp(
            app=_app("TIKTOK_CLIENT"),
            authorize_url=config.text("TIKTOK_AUTHORIZE_URL", tiktok.authorize_url),
        ),
        x=XApp(app=_app("X_CLIENT"), authorize_url=config.text("X_AUTHORIZE_URL", x.authorize_url)),
        youtube=YouTubeApp(
            app=_app("YOUTUBE_CLIENT"),
            authorize_url=config.text("YOUTUBE_AUTHORIZE_URL", youtube.authorize_url),
            token_url=config.text("YOUTUBE_TOKEN_URL", youtube.token_url),
        ),
    )


def _app(prefix: str) -> App:
    return App(config.text(f"{prefix}_ID", ""), config.text(f"{prefix}_SECRET", ""))
