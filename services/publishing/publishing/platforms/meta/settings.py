"""Settings of the Graph API: its addresses and our app, for Facebook and Instagram."""

from dataclasses import dataclass, field

from chassis import config
from publishing.platforms.oauth.base import App

_GRAPH, _GRAPH_VIDEO = "https://graph.facebook.com", "https://graph-video.facebook.com"


@dataclass(frozen=True, slots=True)
class MetaSettings:
    """The settings of Facebook and Instagram. Times are in seconds."""

    facebook_url: str = _GRAPH
    instagram_url: str = _GRAPH
    #: Where videos are uploaded; empty: Meta's host for videos, or `facebook_url` if that is not Meta's.
    facebook_upload_url: str = ""
    #: The login page.
    authorize_url: str = "https://www.facebook.com"
    graph_version: str = "v26.0"
    app_id: str = ""
    #: Signs every call (`appsecret_proof`) if set, and verifies webhooks.
    app_secret: str = field(default="", repr=False)
    #: Verifies Instagram's webhooks if its own login is used (platforms.md 3).
    instagram_app_secret: str = field(default="", repr=False)
    #: Whether Instagram's login asks for `ads_read` as well, for accounts of business portfolios. Facebook refuses the
    #: login of an app that may not ask for it.
    asks_ads_read: bool = False
    #: With this token Meta verifies the address of our webhooks.
    verify_token: str = field(default="", repr=False)
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: First wait between two polls of a container or video; doubles up to 5 s, so that a photo is seen soon and a long
    #: video costs few calls.
    poll_seconds: float = 0.5
    #: Longest wait of one attempt for processing: an immediate publish must answer within the gateway's 60 s. Meta may
    #: take five minutes (platforms.md 3); the next attempt of a scheduled post reuses what is staged. Our choice.
    poll_limit_seconds: float = 25.0

    @classmethod
    def from_env(cls) -> "MetaSettings":
        default = cls()
        return cls(
            facebook_url=config.text("FACEBOOK_API_URL", default.facebook_url),
            facebook_upload_url=config.text("FACEBOOK_UPLOAD_URL", default.facebook_upload_url),
            instagram_url=config.text("INSTAGRAM_API_URL", default.instagram_url),
            authorize_url=config.text("FACEBOOK_AUTHORIZE_URL", default.authorize_url),
            graph_version=config.text("META_GRAPH_VERSION", default.graph_version),
            app_id=config.text("META_APP_ID", default.app_id),
            app_secret=config.text("META_APP_SECRET", default.app_secret),
            instagram_app_secret=config.text("INSTAGRAM_APP_SECRET", default.instagram_app_secret),
            asks_ads_read=config.flag("INSTAGRAM_ADS_READ", default.asks_ads_read),
            verify_token=config.text("META_VERIFY_TOKEN", default.verify_token),
            read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
        )

    @property
    def upload_url(self) -> str:
        """The base address of video uploads. This is the operator's setting for it or, without one, the operator's own
        address of the Graph API. Without both it is Meta's address for videos."""
        if self.facebook_upload_url or self.facebook_url.rstrip("/") != _GRAPH:
            return self.facebook_upload_url or self.facebook_url
        return _GRAPH_VIDEO

    @property
    def app(self) -> App:
        return App(self.app_id, self.app_secret)
