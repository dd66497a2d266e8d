"""Links pages by OAuth: a client begins a link session, a browser comes back from the platform's login, the client
chooses accounts.

The OAuth state is signed and works once, for ten minutes, in the browser that it was made for. The exchange of the code
for tokens is claimed before the platform is called. The accounts found wait for the person's consent
(`link_consent.py`). When the person agrees, pages that the brand had linked before get the new credentials and keep
their ids, even if the client does not choose them.
"""

import re
import secrets
from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from chassis.bus.outbox import stage
from chassis.db.operations import Operations, once
from chassis.ids import new_id
from chassis.vault import UnreadableSecret
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, POST_IN_PROGRESS, UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.events import ConnectRefused
from contracts.platforms import PLATFORMS, parse_platform
from publishing.context import AppContext
from publishing.pages import linked_pages
from publishing.pages.browser import Browser
from publishing.pages.found_accounts import (
    FoundAccount,
    accounts_in,
    found_account,
    link_chosen,
    locked,
    shown,
)
from publishing.platforms.base import PlatformRefusal
from publishing.platforms.oauth.base import Login
from publishing.rules import content, return_urls
from publishing.store import Connection
from publishing.store.links import LinkRow, Links
from publishing.store.pages import Pages

log = structlog.get_logger()

#: How long the person may take at the platform (decisions), how long the accounts found wait for the person's consent,
#: and how long the app may choose among them.
_STATE_SECONDS, _CONSENT_SECONDS, CHOICE_SECONDS = 600.0, 600.0, 3_600.0
#: `SESSION.BROWSER.SIGNATURE`: the session's id, the browser's id, and our signature over both.
_STATE = re.compile(r"([a-z0-9_]{1,64})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{43})", re.ASCII)
#: OAuth errors that mean that the person declined (RFC 6749 4.1.2.1; the last two are LinkedIn's).
_DECLINED = ("access_denied", "user_cancelled_login", "user_cancelled_authorize")
#: How long the exchange of a code is claimed: longer than the calls after one return take.
_EXCHANGE_SECONDS = 120.0
_FORGET_AT_ONCE = 200
#: A link's status by its state; for `found` it is choose or linked.
_STATUS = {"pending": "pending", "exchanging": "pending", "refused": "refused", "failed": "failed"}


def begin(app: AppContext, caller: Caller, request: api.BeginLink) -> api.LinkBegun:
    """Begins a link session. The gateway has checked that the brand exists.

    Raises BRAND_NOT_AUTHORIZED for a brand that the token may not use, UNSUPPORTED_PLATFORM if no app is configured
    for the platform, and VALIDATION_ERROR for an invalid field.
    """
    caller.check_reach(caller.account_id, request.brand_id, field="brand_id")
    content.check_text(request.brand_name, "brand_name")
    content.check_text(request.account_name, "account_name")
    login_of(app, request.platform, request.account_type)
    if request.return_url is not None:
        return_urls.check(app.settings.return_urls, caller.account_id, request.return_url)
    values = {
        "id": new_id("lnk"),
        "account_id": caller.account_id,
        "brand_id": request.brand_id,
        "brand_name": request.brand_name,
        "account_name": request.account_name,
        "return_url": request.return_url,
        "platform": request.platform,
        "account_type": request.account_type,
        "verifier": app.vault.encrypt(secrets.token_urlsafe(48)),
    }
    with app.database.transaction() as connection:
        link = Links(connection).add(values, _STATE_SECONDS)
    url = f"{app.settings.public_url}/connect/start/{link.id}"
    return api.LinkBegun(session_id=link.id, authorize_url=url, expires_at=link.expires_at)


def authorize_url(app: AppContext, link: LinkRow, browser: Browser) -> str:
    """Returns the address of the platform's login for this browser.

    Raises NOT_FOUND when no configured key can decrypt the session, as after a rotation of keys.
    """
    bound = f"{link.id}.{browser.id}"
    state = f"{bound}.{app.vault.sign(bound)}"
    login = login_of(app, link.platform, link.account_type)
    return login.authorize_url(state, redirect_uri(app, link.platform), _verifier(app, link))


def _read_state(app: AppContext, state: str) -> tuple[str, str]:
    """Returns the ids of the session and of the browser from an OAuth state that we signed. Raises NOT_FOUND for any
    other state.
    """
    parts = _STATE.fullmatch(state)
    if parts is None or not app.vault.is_signed(f"{parts[1]}.{parts[2]}", parts[3]):
        raise ApiError(NOT_FOUND)
    return parts[1], parts[2]


def other_browser() -> ApiError:
    """Builds the error for a browser that does not own the session; `reason` chooses the text of the HTML page."""
    return ApiError(NOT_FOUND, reason="other_browser")


def redirect_uri(app: AppContext, platform: str) -> str:
    """Returns the redirect URI of a platform's login, as registered with the platform. It is sent twice: with the
    browser to the login page, and with the code to the token endpoint.
    """
    return f"{app.settings.public_url}/connect/{PLATFORMS[platform].name}/callback"


def finish(app: AppContext, request: api.FinishLink) -> api.LinkSession:
    """Handles a browser's return from the platform's login. Nothing is linked yet. A repeated return shows the same
    result.

    Raises NOT_FOUND for a state that we did not sign or that is too old. For a state that was made for another browser,
    the error has the reason other_browser.
    """
    link_id, made_for = _read_state(app, request.state)
    platform = parse_platform(request.platform)
    browser = Browser.of(request.browser)
    if browser is not None and not browser.has_id(made_for):
        browser = None
    with app.database.transaction() as connection:
        links = Links(connection)
        taken = links.take(link_id, platform, browser.id, _EXCHANGE_SECONDS) if browser else None
        link = taken or links.get(link_id)
        if link is None or link.platform != platform:
            raise ApiError(NOT_FOUND)
        if browser is not None and not browser.has_id(link.browser):
            browser = None
        if browser is None and links.note_refused(link.id):
            _tell_refusal(connection, link)
    if browser is None:
        raise other_browser()
    if taken is not None:
        link = _settle(app, taken, request, browser)
    return _view(app, link)


def show(app: AppContext, caller: Caller, request: api.GetLink) -> api.LinkSession:
    """Returns a link session. Raises NOT_FOUND for a session of another account, and BRAND_NOT_AUTHORIZED if the token
    may not use the session's brand.
    """
    with app.database.reading() as connection:
        link = _reached(caller, Links(connection).get(request.session_id))
    return _view(app, link)


def choose(app: AppContext, caller: Caller, request: api.ChooseAccounts) -> api.PagesLinked:
    """Links the chosen accounts. Accounts that are linked already stay as they are.

    Raises NOT_FOUND for an unknown session or (with the field account_ids) for an account that the login did not find,
    BRAND_NOT_AUTHORIZED if the token may not use the brand, and POST_IN_PROGRESS before the person has agreed.
    """
    work = partial(_choose, app, caller, request)
    return once(app.database, caller, work, partial(_chosen, app, caller))


def _chosen(app: AppContext, caller: Caller, result: str) -> api.PagesLinked:
    """Returns the answer to a repeated request: the pages that the first request linked, as they are now."""
    page_ids = msgspec.json.decode(result, type=list[str])
    with app.database.reading() as connection:
        rows, refusals = Pages(connection).many(page_ids), Pages(connection).last_refusals(page_ids)
    for row in rows.values():
        caller.check_reach(row.account_id, row.brand_id)
    return api.PagesLinked(pages=tuple(rows[page_id].view(refusals.get(page_id)) for page_id in page_ids))


def _choose(app: AppContext, caller: Caller, request: api.ChooseAccounts) -> api.PagesLinked:
    with app.database.transaction() as connection:
        operations = Operations(connection)
        operations.begin(caller)
        link = _reached(caller, Links(connection).get(request.session_id, lock=True))
        if link.state != "found":
            raise ApiError(
                POST_IN_PROGRESS,
                "There is nothing to choose from before the person has agreed on the page of this session.",
            )
        accounts = accounts_in(app, link.found)
        known = {account.account_id for account in accounts}
        if any(account_id not in known for account_id in request.account_ids):
            raise ApiError(NOT_FOUND, "There is no such account in this session.", field="account_ids")
        linked = link_chosen(app, connection, link, accounts, set(request.account_ids))
        found = [account.page_id for account in linked if account.account_id in request.account_ids]
        result = msgspec.json.encode([page_id for page_id in found if page_id]).decode()
        operations.end(caller, result)
    linked_pages.wake_linked()
    return _chosen(app, caller, result)


def forget_links(app: AppContext) -> int:
    """Removes expired link sessions, with the accounts that they found. Returns how many sessions it removed."""
    with app.database.transaction() as connection:
        return Links(connection).forget_old(_FORGET_AT_ONCE)


def _settle(app: AppContext, link: LinkRow, request: api.FinishLink, browser: Browser) -> LinkRow:
    """Exchanges the login's code for tokens. Stores the accounts that the login gives access to, or the failure. Raises
    NOT_FOUND if the session has expired meanwhile.
    """
    state, values, accounts = (
        "failed",
        {"error_code": "UNFORESEEN", "error_message": "Something went wrong."},
        [],
    )
    try:
        if request.error or not request.code:
            state, values = _unhappy(request)
        else:
            with app.live_call(link.account_id):
                accounts = _find(app, link, request.code)
            state, values = "exchanging", {"unconfirmed": locked(app, browser, accounts)}
    except PlatformRefusal as refusal:
        values = {"error_code": refusal.code, "error_message": refusal.message}
    except ApiError as error:
        values = {"error_code": error.code, "error_message": error.message}
    except Exception:
        log.exception("linking_failed_unforeseen", link_id=link.id)
    with app.database.transaction() as connection:
        life_seconds = _CONSENT_SECONDS if accounts else CHOICE_SECONDS
        ended = Links(connection).end(link.id, state, _storable(values), life_seconds)
    log.info("link_came_back", link_id=link.id, platform=link.platform, state=state, accounts=len(accounts))
    if ended is None:  # the session expired meanwhile
        raise ApiError(NOT_FOUND)
    return ended


def _tell_refusal(connection: Connection, link: LinkRow) -> None:
    """Stages the event page.connect.refused, because a login came back in another browser than it was begun in, or
    without the cookie of its link session.
    """
    log.warning("link_came_back_in_another_browser", link_id=link.id, platform=link.platform)
    data = ConnectRefused(
        user_id=link.account_id,
        brand_id=link.brand_id,
        session_id=link.id,
        platform=link.platform,
        error=api.PostError(
            code="OTHER_BROWSER", message="The login came back in another browser than it was begun in."
        ),
    )
    stage(connection, "page.connect.refused", data, account_id=link.account_id, brand_id=link.brand_id)


def _unhappy(request: api.FinishLink) -> tuple[str, dict[str, str]]:
    code = request.error or "NO_CODE"
    message = request.error_description or "The platform gave no reason."
    return ("refused" if code in _DECLINED else "failed"), {"error_code": code, "error_message": message}


def _find(app: AppContext, link: LinkRow, code: str) -> list[FoundAccount]:
    """Exchanges the code for tokens and returns the accounts found. Raises PlatformRefusal if the platform refuses, and
    ApiError if the session cannot be decrypted or the login gives access to no account.
    """
    login = login_of(app, link.platform, link.account_type)
    tokens = login.exchange(code, redirect_uri(app, link.platform), _verifier(app, link))
    with app.database.reading() as connection:
        accounts = [found_account(found, connection) for found in login.accounts(tokens)]
    if not accounts:
        raise ApiError(
            NOT_FOUND, "The login gives access to no page, profile or channel that could be linked."
        )
    return accounts


def _verifier(app: AppContext, link: LinkRow) -> str:
    """Returns the PKCE verifier of the session. Raises NOT_FOUND when no configured key can decrypt it."""
    try:
        return app.vault.decrypt(link.verifier)
    except UnreadableSecret as error:
        raise ApiError(NOT_FOUND) from error


def _view(app: AppContext, link: LinkRow) -> api.LinkSession:
    accounts = accounts_in(app, link.found)
    return api.LinkSession.made_from(
        link,
        session_id=link.id,
        status=status_of(link, accounts),
        accounts=tuple(shown(account, link.platform) for account in accounts),
        error=error_of(link),
    )


def status_of(link: LinkRow, accounts: Sequence[FoundAccount]) -> str:
    """Returns the session's status as `LinkSession` documents it: "linked" once all found `accounts` are linked."""
    return _STATUS.get(link.state) or ("linked" if all(account.page_id for account in accounts) else "choose")


def error_of(link: LinkRow) -> api.PostError | None:
    if link.error_code is None:
        return None
    return api.PostError(code=link.error_code, message=link.error_message or "")


def _reached(caller: Caller, link: LinkRow | None) -> LinkRow:
    if link is None:
        raise ApiError(NOT_FOUND)
    caller.check_reach(link.account_id, link.brand_id)
    return link


def login_of(app: AppContext, platform: str, account_type: str | None) -> Login:
    """Returns a platform's login for this kind of account. Raises VALIDATION_ERROR for an unknown kind, and
    UNSUPPORTED_PLATFORM if no app is configured.
    """
    if platform not in PLATFORMS:
        raise invalid("platform", f"must be one of {', '.join(PLATFORMS)}")
    row = PLATFORMS[platform]
    if account_type is not None and account_type not in row.account_types:
        known = ", ".join(row.account_types)
        raise invalid(
            "account_type",
            f"must be one of {known}" if known else f"{row.title} has one kind of account: leave it out",
        )
    login = app.logins.get(platform)
    login = login and login.of_app(account_type)
    if login is None:
        what = f"{row.title} ({account_type})" if account_type else row.title
        message = f"Linking {what} is not configured on this server."
        raise ApiError(UNSUPPORTED_PLATFORM, message, platform=platform)
    return login


def _storable(values: dict[str, str]) -> dict[str, str]:
    """Removes from the platform's texts the characters that PostgreSQL cannot store, and shortens long texts."""
    return {
        name: content.storable(value) if name != "unconfirmed" else value for name, value in values.items()
    }
