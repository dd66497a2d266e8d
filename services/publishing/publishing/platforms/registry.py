"""Which platform is served by which connector: one table. A new platform is one module, one row and its settings."""

from collections.abc import Callable, Mapping

from contracts.platforms import PLATFORMS
from contracts.record import Record
from publishing.platforms.base import Connector, NotConnected
from publishing.platforms.facebook import FacebookConnector
from publishing.platforms.instagram import InstagramConnector
from publishing.platforms.meta import MetaSettings


class PlatformSettings(Record):
    """Where each platform answers, and our app's secrets there; `config.py` reads them."""

    meta: MetaSettings = MetaSettings()


#: LN, TT, TW and YT have none yet.
CONNECTORS: Mapping[str, Callable[[PlatformSettings], Connector]] = {
    "FB": lambda settings: FacebookConnector(settings.meta),
    "IG": lambda settings: InstagramConnector(settings.meta),
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
