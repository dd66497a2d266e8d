"""How a page's connection is, asked of its platform now."""

from chassis import clock
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import PLATFORM_ERROR, UNSUPPORTED_PLATFORM, ApiError
from publishing import reach
from publishing.delivery import connection_to
from publishing.house import House
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.records import PageRow
from publishing.store.pages import Pages


def check(house: House, caller: Caller, request: api.GetPage) -> api.PageHealth:
    """Reads the page's profile, which is kept. A page once found expired stays so until it is linked again.

    Raises NOT_FOUND, BRAND_NOT_AUTHORIZED, UNSUPPORTED_PLATFORM; PLATFORM_ERROR when the platform does not tell.
    """
    with house.database.reading() as connection:
        page = reach.page(caller, Pages(connection).get(request.id), field=None)
    refusal = _ask(house, page)
    expired = page.expired or (refusal is not None and refusal.kind is Refusal.EXPIRED)
    with house.database.reading() as connection:
        now = clock.now(connection)
    return api.PageHealth(
        page_id=page.id,
        platform=page.platform,
        healthy=not expired and refusal is None,
        expired=expired,
        missing_permissions=None,
        token_expires_at=None,
        error=None if refusal is None else api.PostError(code=refusal.code, message=refusal.message),
        reconnect_url=house.reconnect_url(page.id) if expired else None,
        checked_at=now,
    )


def _ask(house: House, page: PageRow) -> PlatformRefusal | None:
    """The refusal that says something about the connection; None when all is well."""
    try:
        connector, account = connection_to(house, page)
        profile = connector.profile(account)
    except NotConnected as error:
        raise ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform) from error
    except PlatformRefusal as refusal:
        if refusal.retryable:
            raise ApiError(
                PLATFORM_ERROR, f"{refusal.message} ({refusal.code})", platform=page.platform
            ) from refusal
        house.note_expired(page, refusal)
        return refusal
    with house.database.transaction() as connection:
        Pages(connection).set_profile(
            page.id, profile.name, profile.username, profile.followers, profile.picture
        )
    return None
