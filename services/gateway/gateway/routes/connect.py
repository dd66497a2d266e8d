"""Linking pages by OAuth: endpoints for apps, and web pages for the person who links the pages.

See docs/decisions.md, "Linking and the browser".
"""

from typing import Annotated, Literal

from msgspec import Meta

from contracts import publishing as api
from contracts.accounts import GetBrand, GetUser
from contracts.errors import (
    BRAND_ARCHIVED,
    BRAND_NOT_AUTHORIZED,
    NOT_FOUND,
    POST_IN_PROGRESS,
    UNSUPPORTED_PLATFORM,
    ApiError,
)
from contracts.platforms import PlatformName
from contracts.record import Record
from gateway.browser import oauth_result_page
from gateway.browser.connect_cookie import ConnectCookie
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.body import form_of
from gateway.routes.filters import platform_code

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
#: A return takes two to a hundred calls to the platform, while a person waits in front of the browser.
_RETURN_SECONDS = 60.0


class NewLink(Record):
    platform: PlatformName
    brand_id: str
    return_url: Annotated[str, Meta(max_length=2_000)] | None = None
    #: LinkedIn alone: `organization` for company pages and the member, `member` for the member alone. Without it the
    #: member's app, or the only one.
    account_type: Literal["member", "organization"] | None = None


class OAuthCallback(Record):
    """The parameters with which a platform's login redirects the browser."""

    platform: str
    state: str = ""
    code: str = ""
    error: str = ""
    error_description: str = ""


class Session(Record):
    session_id: str


@endpoint(
    "POST", "/pages/connect", scope="write:pages", meter="writes", status=201,
    errors=(*_REACH, BRAND_ARCHIVED, UNSUPPORTED_PLATFORM), shows_secret=True,
)  # fmt: skip
def begin_link(exchange: Exchange, request: NewLink) -> api.LinkBegun:
    """Begin to link pages; returns the address that a person has to open within ten minutes."""
    asked = GetBrand(brand_id=request.brand_id, field="brand_id")
    brand = exchange.ask(exchange.services.accounts.get_brand, asked)
    if brand.archived_at is not None:
        raise ApiError(BRAND_ARCHIVED)
    platform = platform_code(request.platform) or ""
    begun = api.BeginLink(
        platform=platform,
        brand_id=brand.id,
        brand_name=brand.name,
        account_name=_account_name(exchange),
        return_url=request.return_url,
        account_type=request.account_type,
    )
    return exchange.relay(exchange.services.publishing.begin_link, begun)


@endpoint("GET", "/pages/connect/{session_id}", scope="write:pages", meter="reads", errors=_REACH)
def get_link(exchange: Exchange, request: api.GetLink) -> api.LinkSession:
    """Get the state of a link session, and the accounts that were found."""
    return exchange.relay(exchange.services.publishing.get_link, request)


@endpoint(
    "POST", "/pages/connect/{session_id}", scope="write:pages", meter="writes", status=201,
    errors=(*_REACH, POST_IN_PROGRESS),
)  # fmt: skip
def choose_accounts(exchange: Exchange, request: api.ChooseAccounts) -> api.PagesLinked:
    """Link accounts that were found; one that is already linked keeps its id."""
    return exchange.relay(exchange.services.publishing.choose_accounts, request)


@endpoint("GET", "/connect/start/{session_id}", scope=None, meter="", result=str, token=False, outside=True)
def show_link(exchange: Exchange, request: Session) -> Answer:
    """Show the web page of a link session: who asks for access, then the accounts found, then the result. Changes
    nothing."""
    cookie = _cookie(exchange, request.session_id) or ConnectCookie.new(
        request.session_id, is_https=exchange.services.config.is_https
    )
    try:
        asked = api.ViewLink(session_id=request.session_id, browser=cookie.browser)
        view = exchange.ask(exchange.services.publishing.view_link, asked)
    except ApiError as error:
        return oauth_result_page.of_error(error)
    answer = oauth_result_page.of_session(view, cookie.form_token)
    answer.headers["Set-Cookie"] = cookie.header
    return answer


@endpoint(
    "POST", "/connect/start/{session_id}", scope=None, meter="", result=str, idempotent=False, token=False,
    outside=True,
)  # fmt: skip
def decide_link(exchange: Exchange, request: Session) -> Answer:
    """Give access to the accounts found, or cancel; sent by the form of the session's web page, from the same
    browser."""
    cookie = _cookie(exchange, request.session_id)
    form = form_of(exchange.body)
    decision = form.get("decision")
    if (
        cookie is None
        or decision not in ("give", "cancel")
        or not cookie.is_form_token(form.get("form_token", ""))
    ):
        return oauth_result_page.of_forgery()
    try:
        decided = api.DecideLink(
            session_id=request.session_id, browser=cookie.browser, is_given=decision == "give"
        )
        exchange.ask(exchange.services.publishing.decide_link, decided)
    except ApiError as error:
        return oauth_result_page.of_error(error)
    return _to_page(request.session_id)


@endpoint(
    "GET", "/connect/{platform}/callback", scope=None, meter="", result=str, deadline_seconds=_RETURN_SECONDS,
    token=False, outside=True,
)  # fmt: skip
def finish_link(exchange: Exchange, request: OAuthCallback) -> Answer:
    """Receive the browser from a platform's login (facebook, instagram, …) and redirect it to our web page."""
    cookie = _cookie(exchange, request.state.partition(".")[0])
    finished = api.FinishLink(
        platform=request.platform,
        state=request.state,
        code=request.code,
        error=request.error[:100],  # as much as is shown
        error_description=request.error_description[:500],
        browser=cookie.browser if cookie else "",
    )
    try:
        session = exchange.ask(exchange.services.publishing.finish_link, finished)
    except ApiError as error:
        return oauth_result_page.of_error(error)
    return _to_page(session.session_id)


def _account_name(exchange: Exchange) -> str:
    """Returns the name and e-mail address of the account's owner, also when a collaborator's token asks."""
    user, account_id = exchange.identity.user, exchange.caller.account_id
    if user.id != account_id:
        user = exchange.ask(exchange.services.accounts.get_user, GetUser(user_id=account_id))
    name = f"{user.firstname} {user.lastname}".strip()
    return f"{name} ({user.email})" if name else user.email


def _cookie(exchange: Exchange, session_id: str) -> ConnectCookie | None:
    return ConnectCookie.sent(exchange.environ, session_id, is_https=exchange.services.config.is_https)


def _to_page(session_id: str) -> Answer:
    """Returns a redirect to the web page of a link session, so that the address bar no longer shows the OAuth code and
    reloading the page does not repeat the login."""
    headers = {
        "Location": f"../start/{session_id}",  # relative to the callback's path and to its own
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
    }
    return Answer(303, b"", headers, "text/html; charset=utf-8")
