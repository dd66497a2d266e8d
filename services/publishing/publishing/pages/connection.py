"""A page's connection to its platform, for one call."""

from chassis.vault import UnreadableSecret
from publishing.context import AppContext
from publishing.platforms.base import Account, Connector, PlatformRefusal, Refusal
from publishing.records import PageRow


def connection_to(app: AppContext, page: PageRow) -> tuple[Connector, Account]:
    """Returns the platform's connector and the page's credentials.

    Raises NotConnected for a platform without a connector, PlatformRefusal for credentials that no key reads.
    """
    return app.registry.connector(page.platform), _account(app, page)


def _account(app: AppContext, page: PageRow) -> Account:
    try:
        token = app.vault.credentials(page.access_token).access_token
    except UnreadableSecret as error:
        raise PlatformRefusal(Refusal.EXPIRED, "CREDENTIAL_UNREADABLE", str(error)) from error
    return Account(page.remote_account_id, token, page.username)
