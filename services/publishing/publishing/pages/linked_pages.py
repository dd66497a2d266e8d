"""Stores linked pages, and the new names of their brands. Also the operator's calls: link a page, expire it, encrypt
credentials with a new key.
"""

from functools import partial
from typing import Any

import msgspec

from chassis.db.operations import Operations, once
from chassis.ids import new_id
from chassis.vault import ROTATED_AT_ONCE
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError, invalid
from contracts.events import BrandRenamed, Event
from contracts.keys import KeysRotated, RotateKeys
from publishing.context import RENEWALS, SUBSCRIPTIONS, AppContext
from publishing.pages.expiry import expire as expire_page
from publishing.platforms.registry import PUSHED
from publishing.records import Expired, PageRow
from publishing.rules import content
from publishing.rules.filters import platform_code
from publishing.store import Connection
from publishing.store.brand_names import BrandNames
from publishing.store.links import Links
from publishing.store.pages import Pages
from publishing.store.polls import Polls


def link(app: AppContext, caller: Caller, request: api.LinkPage) -> api.Page:
    """Links a platform's account to a brand, for the operator.

    A page that is linked again gets the new token and works again. A repeated request only returns the page.
    """
    caller.check_operator()
    page = once(app.database, caller, partial(_link, app, caller, request), partial(_page, app))
    wake_linked()
    return page


def _link(app: AppContext, caller: Caller, request: api.LinkPage) -> api.Page:
    platform = platform_code(request.platform)
    if not request.access_token or not request.remote_account_id:
        raise invalid("access_token", "a page needs its account's id and token")
    for name in ("name", "username", "picture", "access_token", "remote_account_id", "brand_name"):
        content.check_text(getattr(request, name), name)
    values = {
        "id": new_id("pag"),
        "account_id": request.owner_account_id,
        "brand_id": request.brand_id,
        "brand_name": request.brand_name,
        "platform": platform,
        "remote_account_id": request.remote_account_id,
        "access_token": app.vault.encrypt(request.access_token),
        "name": request.name,
        "username": request.username,
        "followers": request.followers,
        "picture": request.picture,
        "message_limit": None,
        "grant_id": None,
        "renew_at": None,
    }
    with app.database.transaction() as connection:
        operations = Operations(connection)
        operations.begin(caller)
        page = store_link(connection, values)
        operations.end(caller, page.id)
    return page.view()


def _page(app: AppContext, page_id: str) -> api.Page:
    """Returns the answer to a repeated request: the page as it is now. Raises NOT_FOUND if it was unlinked."""
    with app.database.reading() as connection:
        page = Pages(connection).get(page_id)
    if page is None or page.unlinked_at is not None:
        raise ApiError(NOT_FOUND)
    return page.view()


def store_link(connection: Connection, values: dict[str, Any]) -> PageRow:
    """Stores a linked page: adds it, or updates the brand's page for the same platform account. Makes the page's
    comment polls due.
    """
    name = BrandNames(connection).link(values["brand_id"], values["brand_name"])
    page = Pages(connection).link(
        values | {"brand_name": name}, is_pushed=values["platform"] in PUSHED.values()
    )
    Polls(connection).wake_page(page.id)
    return page


def on_brand_renamed(connection: Connection, event: Event) -> None:
    """Handles the event brand.renamed: gives the brand's pages the new name, unless a newer event has set another one
    already.
    """
    renamed = msgspec.convert(event.data, BrandRenamed)
    BrandNames(connection).rename(renamed.brand_id, renamed.name, event.created_at)


def wake_linked() -> None:
    """Wakes the loops that serve newly linked pages."""
    SUBSCRIPTIONS.wake()
    RENEWALS.wake()


def expire(app: AppContext, caller: Caller, request: api.GetPage) -> api.Page:
    """Marks a page as expired, for the operator, as if the platform had ended the connection.

    Deletes the account's link sessions in which the person has not decided yet. A repeated request only returns the
    page.
    """
    caller.check_operator()
    return once(app.database, caller, partial(_expire, app, caller, request), partial(_page, app))


def _expire(app: AppContext, caller: Caller, request: api.GetPage) -> api.Page:
    with app.database.transaction() as connection:
        operations = Operations(connection)
        operations.begin(caller)
        found = Pages(connection).get(request.id)
        if found is not None:  # linking locks in this order too: no deadlock
            Links(connection).end_of_account(found.account_id)
        page = Pages(connection).lock(request.id)
        if page is None or page.unlinked_at is not None:
            raise ApiError(NOT_FOUND)
        message = "The operator marked the connection as expired."
        expired = (
            expire_page(connection, Expired(page, "OPERATOR", message, app.reconnect_url(page.id))) or page
        )
        operations.end(caller, page.id)
    return expired.view()


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Encrypts the credentials of the next batch of pages, those with ids after `request.after`, with the newest key.
    Skips credentials that were renewed meanwhile: they are encrypted with that key already."""
    caller.check_operator()
    with app.database.transaction() as connection:
        pages = Pages(connection)
        batch = pages.stored_credentials(request.after, ROTATED_AT_ONCE)
        return app.vault.rotate_batch(batch, pages.exchange_credentials)
