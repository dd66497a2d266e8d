"""Settings of LinkedIn (addresses, apps), and the check of a post's `linkedin_settings`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chassis import config
from contracts.errors import ApiError, invalid
from publishing.platforms.oauth.base import App
from publishing.platforms.plugin import url_errors


@dataclass(frozen=True, slots=True)
class LinkedInSettings:
    """The settings of LinkedIn. Times are in seconds."""

    api_url: str = "https://api.linkedin.com"
    #: The app with the products Share on LinkedIn and OpenID Connect, for members alone.
    member_app: App = field(default_factory=App)
    #: The app with Community Management, for company pages. LinkedIn allows it no other product.
    pages_app: App = field(default_factory=App)
    oauth_url: str = "https://www.linkedin.com"
    #: Where browsers log in, if that is not `oauth_url`: with a simulator that they reach by another address than we.
    authorize_url: str = ""
    #: Whether `pages_app` may ask for the `_feed` scopes, which comments need. Guess: apps approved long ago lack them.
    has_feed_scopes: bool = True
    #: YYYYMM. Each is served for about a year; then every call answers 426 until this is updated.
    version: str = "202607"
    #: Hosts of upload addresses besides `api_url`; tokens and files are sent nowhere else.
    upload_hosts: tuple[str, ...] = (".linkedin.com",)
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: First wait between two polls of a file, or two tries to post it; doubles up to 5 s.
    poll_seconds: float = 0.5
    #: Longest wait of one attempt for processing: an immediate publish must answer within the gateway's 60 s. The next
    #: attempt of a scheduled post reuses the same files. Our choice.
    poll_limit_seconds: float = 25.0
    #: Wait before a call is repeated once: LinkedIn calls a new token revoked for some seconds (platforms.md 4).
    revoked_wait_seconds: float = 2.0

    @classmethod
    def from_env(cls) -> "LinkedInSettings":
        default = cls()
        member_app, pages_app = _apps()
        return cls(
            api_url=config.text("LINKEDIN_API_URL", default.api_url),
            member_app=member_app,
            pages_app=pages_app,
            oauth_url=config.text("LINKEDIN_OAUTH_URL", default.oauth_url),
            authorize_url=config.text("LINKEDIN_AUTHORIZE_URL", default.authorize_url),
            has_feed_scopes=config.flag("LINKEDIN_FEED_SCOPES", default.has_feed_scopes),
            version=config.text("LINKEDIN_VERSION", default.version),
            upload_hosts=config.items("LINKEDIN_UPLOAD_HOSTS", ",".join(default.upload_hosts)),
            read_timeout_seconds=config.number("PLATFORM_TIMEOUT_SECONDS", default.read_timeout_seconds),
        )

    @property
    def app(self) -> App:
        """The app for a login that names no kind of account: the members' app if it is set up, else that for company
        pages."""
        return self.member_app if self.member_app.client_id else self.pages_app


def _apps() -> tuple[App, App]:
    """Returns our app for members and our app for company pages. Raises ConfigError if the settings name two apps for
    company pages, or the same app for members and for company pages.

    LINKEDIN_COMPANY_PAGES=true is the setting of releases before 1.4.0: it says that LINKEDIN_CLIENT is the app for
    company pages.
    """
    member, pages = App.from_env("LINKEDIN_CLIENT"), App.from_env("LINKEDIN_PAGES_CLIENT")
    is_old_way = config.flag("LINKEDIN_COMPANY_PAGES", False)
    if pages.client_id and (is_old_way or pages.client_id == member.client_id):
        raise config.ConfigError(
            "LINKEDIN_PAGES_CLIENT_ID is the app for company pages, LINKEDIN_CLIENT_ID another one for members alone"
            " (LinkedIn allows no app both): remove LINKEDIN_COMPANY_PAGES, and LINKEDIN_CLIENT_ID if it is the same"
        )
    return (App(), member) if is_old_way else (member, pages)


def check_settings(settings: Mapping[str, Any], has_media: bool) -> list[ApiError]:
    """Returns an error for each of a post's `linkedin_settings` that LinkedIn would refuse."""
    field = "linkedin_settings.article"
    if settings.get("article") is None:
        return []
    if has_media:
        return [invalid(field, "a post with media shows no article")]
    return url_errors(f"{field}.source", settings["article"]["source"])
