"""Instagram over the Graph API."""

from publishing.platforms.base import Connector
from publishing.platforms.meta import MetaSettings


class InstagramConnector(Connector):
    """Instagram. Calls follow."""

    def __init__(self, settings: MetaSettings) -> None:
        self._settings = settings
