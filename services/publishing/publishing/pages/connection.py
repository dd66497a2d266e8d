"""What a call to a platform needs for one page: the platform's connector and the page's credentials."""

from collections.abc import Collection

from chassis.vault import UnreadableSecret
from contracts.platforms import PLATFORMS
from publishing.context import AppContext
from publishing.platforms.base import Account, Connector, PlatformRefusal, Refusal
from publishing.platforms.registry import PLUGINS
from publishing.records import PageRow


def connection_to(app: AppContext, page: PageRow) -> tuple[Connector, Account]:
    """Returns the platform's connector and the page's credentials.

    Raises NotConnected for a platform without a connector, PlatformRefusal for credentials that no configured key can
    decrypt.
    """
    return app.registry.connector(page.platform), _account(app, page)


def can_comment(app: AppContext, page: PageRow) -> bool | None:
    """Whether the page's token may write comments, by the scopes that were granted when the page was linked or
    renewed.

    None if that is not known, as for pages that the operator linked.
    """
    try:
        granted = app.vault.credentials(page.access_token).scopes
    except UnreadableSecret:
        return None
    return may_comment(page.platform, granted)


def may_comment(platform: str, granted: Collection[str] | None) -> bool | None:
    """Whether a token with these scopes may write comments; None if the scopes are not known or this release does not
    know the platform."""
    plugin = PLUGINS.get(platform)
    if granted is None or plugin is None:
        return None
    return PLATFORMS[platform].comments and (
        not plugin.comment_scopes or not set(plugin.comment_scopes).isdisjoint(granted)
    )


def _account(app: AppContext, page: PageRow) -> Account:
    try:
        token = app.vault.credentials(page.access_token).access_token
    except UnreadableSecret as error:
        raise PlatformRefusal(Refusal.EXPIRED, "CREDENTIAL_UNREADABLE", str(error)) from error
    return Account(page.remote_account_id, token, page.username)
