"""The browser's side of linking: what the person sees, and the consent without which nothing is linked.

A link session belongs to the first browser that comes back from the platform's login with the OAuth state made for that
browser. Another browser that knows the session's address sees at most who asks for access, and cannot decide.
"""

import structlog

from contracts import publishing as api
from contracts.errors import NOT_FOUND, ApiError
from publishing.context import AppContext
from publishing.pages import found_accounts, link_sessions, linked_pages
from publishing.pages.browser import Browser
from publishing.rules import return_urls
from publishing.store.links import LinkRow, Links
from publishing.store.pages import Pages

log = structlog.get_logger()

#: The error of a session that the person cancelled, as the app reads it.
_CANCELLED = {
    "error_code": "CANCELLED",
    "error_message": "The person did not give access to the pages found.",
}


def view(app: AppContext, request: api.ViewLink) -> api.LinkPageView:
    """Returns what the web page of a link session shows. Changes nothing, as link previews and prefetchers call it too.

    Any browser may see this web page until one has come back from the platform's login. After that, only that browser
    may; others get NOT_FOUND with reason other_browser. Raises NOT_FOUND for an unknown session too.
    """
    browser = Browser.of(request.browser)
    if browser is None:
        raise ApiError(NOT_FOUND)
    with app.database.reading() as connection:
        link = Links(connection).get(request.session_id)
    if link is not None and link.state == "pending":
        return _shown(app, link, browser, link_sessions.authorize_url(app, link, browser))
    return _shown(app, *_owned(link, browser))


def decide(app: AppContext, request: api.DecideLink) -> api.LinkPageView:
    """Stores whether the person agrees to the linking. A second decision changes nothing, and gets the first one's
    answer.

    Raises the errors of `view`.
    """
    browser = Browser.of(request.browser)
    with app.database.transaction() as connection:
        links = Links(connection)
        link, browser = _owned(links.get(request.session_id, lock=True), browser)
        state, values = ("found", {}) if request.is_given else ("refused", _CANCELLED)
        decided = links.decide(link.id, state, values, link_sessions.CHOICE_SECONDS)
        if decided is not None:
            log.info("link_decided", link_id=link.id, platform=link.platform, is_given=request.is_given)
        if decided is not None and request.is_given:
            again = Pages(connection).linked_accounts(decided.brand_id, decided.platform)
            accounts = found_accounts.unlocked(app, browser, link.unconfirmed)
            found_accounts.link_chosen(app, connection, decided, accounts, again)
        link, browser = _owned(links.get(request.session_id), browser)
    if request.is_given:
        linked_pages.wake_linked()
    return _shown(app, link, browser)


def _owned(link: LinkRow | None, browser: Browser | None) -> tuple[LinkRow, Browser]:
    if link is None:
        raise ApiError(NOT_FOUND)
    if browser is None or not browser.has_id(link.browser):
        raise link_sessions.other_browser()
    return link, browser


def _shown(
    app: AppContext, link: LinkRow, browser: Browser, authorize_url: str | None = None
) -> api.LinkPageView:
    accounts = found_accounts.unlocked(app, browser, link.unconfirmed) or found_accounts.accounts_in(
        app, link.found
    )
    status = link_sessions.status_of(link, accounts)
    if status == "pending":
        status = "start" if authorize_url else "confirm" if link.unconfirmed else "wait"
    return api.LinkPageView(
        session_id=link.id,
        platform=link.platform,
        brand_name=link.brand_name,
        account_name=link.account_name or "",
        status=status,
        accounts=tuple(found_accounts.shown(account, link.platform) for account in accounts),
        error=link_sessions.error_of(link),
        authorize_url=authorize_url,
        return_url=_return_url(link, status),
    )


def _return_url(link: LinkRow, status: str) -> str | None:
    if link.return_url is None or status in ("start", "wait", "confirm"):
        return None
    return return_urls.with_outcome(link.return_url, link.id, status)
