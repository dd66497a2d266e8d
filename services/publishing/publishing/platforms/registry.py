"""Which platform is served by which connector and linked by which login: one table, a row each.

What a post may hold there is the platform's row of `contracts.platforms`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from contracts.platforms import PLATFORMS
from contracts.record import Record
from publishing.platforms.base import Connector, NotConnected
from publishing.platforms.facebook import FacebookConnector
from publishing.platforms.instagram import InstagramConnector
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta import MetaSettings
from publishing.platforms.oauth.base import Login
from publishing.platforms.oauth.linkedin import LinkedInApp, LinkedInLogin
from publishing.platforms.oauth.meta import FacebookLogin, InstagramLogin, MetaApp
from publishing.platforms.oauth.tiktok import TikTokApp, TikTokLogin
from publishing.platforms.oauth.x import XApp, XLogin
from publishing.platforms.oauth.youtube import YouTubeApp, YouTubeLogin
from publishing.platforms.tiktok.connector import TikTokConnector
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.settings import XSettings
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.settings import YouTubeSettings


class PlatformSettings(Record):
    """Where each platform answers, and our app's secrets there; `config.py` reads them."""

    meta: MetaSettings = MetaSettings()
    linkedin: LinkedInSettings = LinkedInSettings()
    x: XSettings = XSettings()
    youtube: YouTubeSettings = YouTubeSettings()
    tiktok: TikTokSettings = TikTokSettings()


class Apps(Record):
    """Our apps at the platforms; `config.py` reads them."""

    meta: MetaApp = MetaApp()
    linkedin: LinkedInApp = LinkedInApp()
    tiktok: TikTokApp = TikTokApp()
    x: XApp = XApp()
    youtube: YouTubeApp = YouTubeApp()


class Row(NamedTuple):
    """What serves one platform."""

    connector: Callable[[PlatformSettings], Connector]
    login: Callable[[Apps, PlatformSettings], Login]
    #: Our app's id there; without one nobody links.
    app_id: Callable[[Apps], str]


ROWS: Mapping[str, Row] = {
    "FB": Row(
        lambda at: FacebookConnector(at.meta),
        lambda apps, at: FacebookLogin(apps.meta, at.meta),
        lambda apps: apps.meta.app_id,
    ),
    "IG": Row(
        lambda at: InstagramConnector(at.meta),
        lambda apps, at: InstagramLogin(apps.meta, at.meta),
        lambda apps: apps.meta.app_id,
    ),
    "LN": Row(
        lambda at: LinkedInConnector(at.linkedin),
        lambda apps, at: LinkedInLogin(apps.linkedin, at.linkedin),
        lambda apps: apps.linkedin.app.client_id,
    ),
    "TT": Row(
        lambda at: TikTokConnector(at.tiktok),
        lambda apps, at: TikTokLogin(apps.tiktok, at.tiktok),
        lambda apps: apps.tiktok.app.client_id,
    ),
    "TW": Row(
        lambda at: XConnector(at.x),
        lambda apps, at: XLogin(apps.x, at.x),
        lambda apps: apps.x.app.client_id,
    ),
    "YT": Row(
        lambda at: YouTubeConnector(at.youtube),
        lambda apps, at: YouTubeLogin(apps.youtube, at.youtube),
        lambda apps: apps.youtube.app.client_id,
    ),
}


class Registry:
    """The connectors of this process, made once; each keeps its own pool of connections."""

    def __init__(self, settings: PlatformSettings) -> None:
        self._connectors = {code: row.connector(settings) for code, row in ROWS.items()}

    def connector(self, platform_code: str) -> Connector:
        """Raises NotConnected."""
        if platform_code not in self._connectors:
            raise NotConnected(platform_code, PLATFORMS[platform_code].name)
        return self._connectors[platform_code]


def logins(apps: Apps, settings: PlatformSettings) -> dict[str, Login]:
    """By platform code, those that are configured."""
    return {code: row.login(apps, settings) for code, row in ROWS.items() if row.app_id(apps)}
