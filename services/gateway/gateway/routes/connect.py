"""Linking pages by OAuth: begin, come back from the platform in a browser, look, choose (decisions "connect")."""

import msgspec

from contracts.accounts import GetBrand
from contracts.errors import (
    BRAND_NOT_AUTHORIZED,
    NOT_FOUND,
    POST_IN_PROGRESS,
    UNSUPPORTED_PLATFORM,
    ApiError,
)
from contracts.publishing import (
    BeginLink,
    ChooseAccounts,
    FinishLink,
    GetLink,
    LinkBegun,
    LinkSession,
    PagesLinked,
)
from contracts.record import Record
from gateway import farewell
from gateway.answers import Answer
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.filters import platform_code

_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
#: Two to a hundred calls to the platform. Our choice.
_RETURN_SECONDS = 60.0


class NewLink(Record):
    platform: str
    brand_id: str


@endpoint(
    "POST", "/pages/connect", scope="write:pages", meter="writes", request=NewLink, result=LinkBegun, status=201,
    errors=(*_REACH, UNSUPPORTED_PLATFORM), tells_secret=True,
)  # fmt: skip
def begin_link(exchange: Exchange, request: NewLink) -> LinkBegun:
    """Begin to link pages: the address a browser has to be sent to, within ten minutes."""
    asked = GetBrand(brand_id=request.brand_id, field="brand_id")
    brand = exchange.ask(exchange.house.accounts.get_brand, asked)
    platform = platform_code(request.platform) or ""
    begun = BeginLink(platform=platform, brand_id=brand.id, brand_name=brand.name)
    return exchange.relay(exchange.house.publishing.begin_link, begun)


@endpoint(
    "GET", "/pages/connect/{session_id}", scope="write:pages", meter="reads", request=GetLink,
    result=LinkSession, errors=_REACH,
)  # fmt: skip
def get_link(exchange: Exchange, request: GetLink) -> LinkSession:
    """How far a linking is, and the accounts that were found."""
    return exchange.relay(exchange.house.publishing.get_link, request)


@endpoint(
    "POST", "/pages/connect/{session_id}", scope="write:pages", meter="writes", request=ChooseAccounts,
    result=PagesLinked, status=201, errors=(*_REACH, POST_IN_PROGRESS),
)  # fmt: skip
def choose_accounts(exchange: Exchange, request: ChooseAccounts) -> PagesLinked:
    """Link accounts that were found; one that is linked already keeps its id."""
    return exchange.relay(exchange.house.publishing.choose_accounts, request)


@endpoint(
    "GET", "/connect/{platform}/callback", scope=None, meter="", request=FinishLink, result=str,
    deadline_seconds=_RETURN_SECONDS, token=False, outside=True,
)  # fmt: skip
def finish_link(exchange: Exchange, request: FinishLink) -> Answer:
    """Where a platform's login (facebook, instagram, …) sends the browser back to: a page for people."""
    try:
        session = exchange.ask(exchange.house.publishing.finish_link, _short(request))
    except ApiError as error:
        return farewell.of_error(error)
    return farewell.of_session(session)


def _short(request: FinishLink) -> FinishLink:
    """What the platform said of an error, in as many words as are shown."""
    return msgspec.structs.replace(
        request, error=request.error[:100], error_description=request.error_description[:500]
    )
