"""How a page's connection is, asked of its platform now."""

from chassis.db import clock
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PLATFORM_ERROR, UNSUPPORTED_PLATFORM, ApiError
from publishing.context import House
from publishing.credentials import Credentials, UnreadableCredential
from publishing.pages.connection import connection_to
from publishing.pages.renewal import can_renew, renew_now
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Tokens
from publishing.records import PageRow
from publishing.rules import reach
from publishing.store.pages import Pages


def check(house: House, caller: Caller, request: api.GetPage) -> api.PageHealth:
    """Reads the page's profile, which is kept. A page once found expired stays so until it is linked again.

    Raises NOT_FOUND, BRAND_NOT_AUTHORIZED, UNSUPPORTED_PLATFORM; PLATFORM_ERROR when the platform does not tell.
    """
    with house.database.reading() as connection:
        page = reach.page(caller, Pages(connection).get(request.id), field=None)
    page, refusal = _look(house, page)
    credentials = _credentials(house, page)
    missing = None if refusal else _missing(house, page, credentials)
    expired = page.expired or (refusal is not None and refusal.kind is Refusal.EXPIRED)
    with house.database.reading() as connection:
        now = clock.now(connection)
    return api.PageHealth(
        page_id=page.id,
        platform=page.platform,
        healthy=not expired and refusal is None and not missing,
        expired=expired,
        missing_permissions=missing,
        token_expires_at=credentials.expires_at if credentials else None,
        error=None if refusal is None else api.PostError(code=refusal.code, message=refusal.message),
        reconnect_url=house.reconnect_url(page.id) if expired else None,
        checked_at=now,
    )


def _look(house: House, page: PageRow) -> tuple[PageRow, PlatformRefusal | None]:
    """The page and what its platform refuses; a token that is over is renewed first, if that can be."""
    refusal = _ask(house, page)
    if refusal is not None and refusal.kind is Refusal.EXPIRED and can_renew(house, page):
        renewed = renew_now(house, page)
        if renewed is None:
            raise _unknown(page, refusal)
        page, refusal = renewed, refusal if renewed.expired else _ask(house, renewed)
    if refusal is not None and refusal.retryable:
        raise _unknown(page, refusal)
    if refusal is not None:
        house.note_expired(page, refusal)
    return page, refusal


def _unknown(page: PageRow, refusal: PlatformRefusal) -> ApiError:
    return ApiError(PLATFORM_ERROR, f"{refusal.message} ({refusal.code})", platform=page.platform)


def _credentials(house: House, page: PageRow) -> Credentials | None:
    try:
        return house.vault.credentials(page.access_token)
    except UnreadableCredential:
        return None


def _missing(house: House, page: PageRow, credentials: Credentials | None) -> tuple[str, ...] | None:
    """What is asked for when linking and not granted; as it was then, if the platform will not say how it is now."""
    login = house.logins.get(page.platform)
    if login is None or credentials is None:
        return None
    tokens = Tokens(credentials.access_token, credentials.refresh_token, scopes=credentials.scopes)
    try:
        granted = login.granted(tokens)
    except PlatformRefusal:
        granted = credentials.scopes
    return None if granted is None else tuple(scope for scope in login.scopes if scope not in granted)


def _ask(house: House, page: PageRow) -> PlatformRefusal | None:
    """What the platform says to a look at the profile, which is kept; None when all is well."""
    try:
        connector, account = connection_to(house, page)
        profile = connector.profile(account)
    except NotConnected as error:
        raise ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform) from error
    except PlatformRefusal as refusal:
        return refusal
    with house.database.transaction() as connection:
        Pages(connection).set_profile(
            page.id, profile.name, profile.username, profile.followers, profile.picture
        )
    return None
