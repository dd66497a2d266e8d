"""The connector of a page's platform with the page's credentials, for one call."""

from publishing.context import House
from publishing.platforms.base import Account, Connector
from publishing.records import PageRow


def connection_to(house: House, page: PageRow) -> tuple[Connector, Account]:
    """Raises NotConnected and PlatformRefusal."""
    return house.registry.connector(page.platform), house.account(page)
