"""Which platform is served by which connector: one table. A new platform is one module, one row and its settings."""

from collections.abc import Callable, Mapping

from contracts.platforms import PLATFORMS
from contracts.record import Record
from publishing.platforms.base import Connector, NotConnected
from publishing.platforms.facebook import FacebookConnector
from publishing.platforms.instagram import InstagramConnector
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta import MetaSettings
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


CONNECTORS: Mapping[str, Callable[[PlatformSettings], Connector]] = {
    "FB": lambda settings: FacebookConnector(settings.meta),
    "IG": lambda settings: InstagramConnector(settings.meta),
    "LN": lambda settings: LinkedInConnector(settings.linkedin),
    "TT": lambda settings: TikTokConnector(settings.tiktok),
    "TW": lambda settings: XConnector(settings.x),
    "YT": lambda settings: YouTubeConnector(settings.youtube),
}


class Registry:
    """The connectors of this process, made once; each keeps its own pool of connections."""

    def __init__(self, settings: PlatformSettings) -> None:
        self._connectors = {code: make(settings) for code, make in CONNECTORS.items()}

    def connector(self, platform_code: str) -> Connector:
        """Raises NotConnected."""
        if platform_code not in self._connectors:
            raise NotConnected(platform_code, PLATFORMS[platform_code].name)
        return self._connectors[platform_code]
