"""The accounts that a login gives access to. They are stored in the link session, encrypted, until the client chooses
among them.

Until the person agrees, only that person's browser can decrypt them (`pages/browser.py`).
"""

from collections.abc import Sequence

import msgspec

from chassis.ids import new_id
from chassis.vault import UnreadableSecret
from contracts import publishing as api
from contracts.errors import NOT_FOUND, ApiError
from contracts.record import Record
from publishing.context import AppContext
from publishing.pages import linked_pages
from publishing.pages.browser import Browser
from publishing.pages.renewal import Grant
from publishing.platforms.oauth.base import Found
from publishing.platforms.registry import may_comment
from publishing.rules import content
from publishing.store import Connection
from publishing.store.links import LinkRow, Links


class FoundAccount(Record):
    """An account of the platform that a login gives access to, with its credentials."""

    account_id: str
    name: str
    username: str | None
    followers: int
    picture: str | None
    grant: Grant
    message_limit: int | None = None
    #: Set once the account is linked from this session; the page's credentials may have been renewed since.
    page_id: str | None = None


class FoundAccounts(Record):
    accounts: tuple[FoundAccount, ...]


def found_account(found: Found, connection: Connection) -> FoundAccount:
    profile = found.profile
    return FoundAccount(
        account_id=found.account_id,
        name=content.storable(profile.name),
        username=profile.username and content.storable(profile.username),
        followers=profile.followers,
        picture=profile.picture and content.storable(profile.picture),
        grant=Grant.of(found.tokens, found.grant_id, connection),
        message_limit=profile.message_limit,
    )


def link_chosen(
    app: AppContext, connection: Connection, link: LinkRow, accounts: Sequence[FoundAccount], chosen: set[str]
) -> list[FoundAccount]:
    """Links the accounts whose ids are in `chosen`, and stores all `accounts` with the link session.

    Returns all accounts; those that are linked now have a page id.
    """
    linked = [
        _link_account(app, connection, link, account)
        if account.account_id in chosen and not account.page_id
        else account
        for account in accounts
    ]
    Links(connection).save_found(link.id, app.vault.seal(FoundAccounts(accounts=tuple(linked))))
    return linked


def _link_account(
    app: AppContext, connection: Connection, link: LinkRow, account: FoundAccount
) -> FoundAccount:
    values = {
        "id": new_id("pag"),
        "account_id": link.account_id,
        "brand_id": link.brand_id,
        "brand_name": link.brand_name,
        "platform": link.platform,
        "remote_account_id": account.account_id,
        "access_token": app.vault.seal(account.grant.credentials),
        "name": account.name,
        "username": account.username,
        "followers": account.followers,
        "picture": account.picture,
        "message_limit": account.message_limit,
        "grant_id": account.grant.grant_id,
        "renew_at": account.grant.renew_at,
    }
    return msgspec.structs.replace(account, page_id=linked_pages.store_link(connection, values).id)


def shown(account: FoundAccount, platform: str) -> api.LinkableAccount:
    return api.LinkableAccount.made_from(
        account, can_comment=may_comment(platform, account.grant.credentials.scopes)
    )


def locked(app: AppContext, browser: Browser, accounts: Sequence[FoundAccount]) -> str:
    """Encrypts the found accounts so that reading them takes both the browser's key and ours."""
    found = FoundAccounts(accounts=tuple(accounts))
    return app.vault.encrypt(browser.lock(msgspec.json.encode(found).decode()))


def unlocked(app: AppContext, browser: Browser, stored: str | None) -> list[FoundAccount]:
    """Decrypts accounts that `locked` has encrypted. Raises NOT_FOUND if they were encrypted for another browser, or
    if no configured key decrypts them.
    """
    if stored is None:
        return []
    try:
        found = browser.unlock(app.vault.decrypt(stored))
    except UnreadableSecret as error:
        raise ApiError(NOT_FOUND) from error
    return list(msgspec.json.decode(found, type=FoundAccounts).accounts)


def accounts_in(app: AppContext, sealed: str | None) -> list[FoundAccount]:
    """Decrypts the accounts that a link session has found; none if `sealed` is None. Raises NOT_FOUND when no
    configured key can decrypt them."""
    if sealed is None:
        return []
    try:
        return list(app.vault.unseal(sealed, FoundAccounts).accounts)
    except UnreadableSecret as error:
        raise ApiError(NOT_FOUND) from error
