"""Checks whether a page's connection works, by asking its platform now."""

from chassis.db import clock
from chassis.vault import UnreadableSecret
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PLATFORM_ERROR, UNSUPPORTED_PLATFORM, ApiError
from publishing.context import AppContext
from publishing.pages.expiry import note_expiry
from publishing.pages.renewal import can_renew, renew_now
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Tokens
from publishing.platforms.registry import may_comment
from publishing.records import Credentials, PageRow, reached
from publishing.store.pages import Pages


def check(app: AppContext, caller: Caller, request: api.GetPage) -> api.PageHealth:
    """Checks the connection by reading the page's profile from the platform. Stores the profile and the result.

    A page that was found expired stays expired until it is linked again. Raises NOT_FOUND or BRAND_NOT_AUTHORIZED for a
    page that the caller may not use, and UNSUPPORTED_PLATFORM if the platform has no connector. Raises PLATFORM_ERROR
    if the platform refuses temporarily, or if a renewal of the token gets no answer: the check then has no result.
    """
    with app.database.reading() as connection:
        page = reached(caller, Pages(connection).get(request.id), field=None)
    page, refusal = _look(app, page)
    credentials = _credentials(app, page)
    missing = None if refusal else _missing(app, page, credentials)
    expired = page.expired or (refusal is not None and refusal.kind is Refusal.EXPIRED)
    with app.database.transaction() as connection:
        found = api.PageHealth(
            page_id=page.id,
            platform=page.platform,
            healthy=not expired and refusal is None and not missing,
            expired=expired,
            missing_permissions=missing,
            token_expires_at=credentials.expires_at if credentials else None,
            error=None if refusal is None else api.PostError(code=refusal.code, message=refusal.message),
            reconnect_url=app.reconnect_url(page.id) if expired else None,
            checked_at=clock.now(connection),
            can_comment=may_comment(page.platform, credentials.scopes if credentials else None),
        )
        Pages(connection).set_check(found)
    return found


def _look(app: AppContext, page: PageRow) -> tuple[PageRow, PlatformRefusal | None]:
    """Reads the page's profile from the platform and stores it. Renews an expired token if possible, and marks the page
    as expired if its connection has ended. Returns the page, and the platform's refusal or None.

    Raises PLATFORM_ERROR for a temporary refusal and for a renewal without a result, and UNSUPPORTED_PLATFORM if the
    platform has no connector.
    """
    refusal = _ask(app, page)
    if refusal is not None and refusal.kind is Refusal.EXPIRED and can_renew(app, page):
        renewed = renew_now(app, page)
        if renewed is None:
            raise _unknown(page, refusal)
        page, refusal = renewed, refusal if renewed.expired else _ask(app, renewed)
    if refusal is not None and refusal.retryable:
        raise _unknown(page, refusal)
    if refusal is not None:
        note_expiry(app, page, refusal)
    return page, refusal


def _unknown(page: PageRow, refusal: PlatformRefusal) -> ApiError:
    return ApiError(PLATFORM_ERROR, f"{refusal.message} ({refusal.code})", platform=page.platform)


def _credentials(app: AppContext, page: PageRow) -> Credentials | None:
    try:
        return Credentials.opened(app.vault, page.access_token)
    except UnreadableSecret:
        return None


def _missing(app: AppContext, page: PageRow, credentials: Credentials | None) -> tuple[str, ...] | None:
    """Returns the scopes that our features need and that the page lacks; None if the granted scopes are not known.

    If the platform refuses to name the granted scopes, those stored with the page's credentials count.
    """
    login = None if credentials is None else app.login_of(page.platform, credentials)
    if login is None or credentials is None:
        return None
    tokens = Tokens(credentials.access_token, credentials.refresh_token, scopes=credentials.scopes)
    try:
        granted = login.granted(tokens)
    except PlatformRefusal:
        granted = credentials.scopes
    return None if granted is None else login.missing(granted)


def _ask(app: AppContext, page: PageRow) -> PlatformRefusal | None:
    """Reads the page's profile from the platform and stores it. Returns the platform's refusal, or None. Raises
    UNSUPPORTED_PLATFORM if the platform has no connector.
    """
    try:
        connector, account = app.connection_to(page)
        profile = connector.profile(account)
    except NotConnected as error:
        raise ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform) from error
    except PlatformRefusal as refusal:
        return refusal
    with app.database.transaction() as connection:
        Pages(connection).set_profile(
            page.id,
            profile.name,
            profile.username,
            profile.followers,
            profile.picture,
            profile.message_limit,
        )
    return None
