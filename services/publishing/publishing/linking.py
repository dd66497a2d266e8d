"""Linking pages by OAuth: a browser is sent to the platform's login, comes back once, and its owner chooses.

The state that goes along is signed, works once and for ten minutes; the code's exchange is claimed before the call.
Pages of the brand that were linked before get their new credentials at once, whatever is chosen: their ids stay.
"""

import secrets
from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from chassis.ids import new_id
from chassis.operations import Operations, once
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, POST_IN_PROGRESS, UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.platforms import PLATFORMS, parse_platform
from contracts.record import Record
from publishing import content, pages
from publishing.credentials import UnreadableCredential
from publishing.house import House
from publishing.platforms.base import PlatformRefusal
from publishing.platforms.oauth.base import Found, Login
from publishing.renewing import Grant
from publishing.store import Connection
from publishing.store.links import LinkRow, Links
from publishing.store.pages import Pages

log = structlog.get_logger()

#: Until somebody has to be back from the platform (decisions), and how long what was found is kept to choose from
#: (our choice).
_STATE_SECONDS, _CHOICE_SECONDS = 600.0, 3_600.0
#: Our words for what the platform's own are about the person, not about us (RFC 6749 4.1.2.1; LinkedIn's two).
_DECLINED = ("access_denied", "user_cancelled_login", "user_cancelled_authorize")
#: Longer than the calls of one return may take; within it the code is not taken up by anybody else. Our choice.
_EXCHANGE_SECONDS = 120.0
_FORGET_AT_ONCE = 200
#: What a client sees of a link's state; `found` is choose or linked.
_STATUS = {"pending": "pending", "exchanging": "pending", "refused": "refused", "failed": "failed"}


class Find(Record):
    """An account found, with what it is reached with."""

    account_id: str
    name: str
    username: str | None
    followers: int
    picture: str | None
    grant: Grant
    #: Once linked from here: its credentials may have been renewed since.
    page_id: str | None = None


class Finds(Record):
    accounts: tuple[Find, ...]


def begin(house: House, caller: Caller, request: api.BeginLink) -> api.LinkBegun:
    """Raises BRAND_NOT_AUTHORIZED, UNSUPPORTED_PLATFORM. Whether there is such a brand, the gateway has asked."""
    caller.check_reach(caller.account_id, request.brand_id, field="brand_id")
    content.check_text(request.brand_name, "brand_name")
    login = _login(house, request.platform)
    verifier = secrets.token_urlsafe(48)
    values = {
        "id": new_id("lnk"),
        "account_id": caller.account_id,
        "brand_id": request.brand_id,
        "brand_name": request.brand_name,
        "platform": request.platform,
        "verifier": house.vault.encrypt(verifier),
    }
    with house.database.transaction() as connection:
        link = Links(connection).add(values, _STATE_SECONDS)
    url = login.authorize_url(state_of(house, link.id), redirect_uri(house, link.platform), verifier)
    return api.LinkBegun(session_id=link.id, authorize_url=url, expires_at=link.expires_at)


def state_of(house: House, link_id: str) -> str:
    """What goes along and comes back."""
    return f"{link_id}.{house.vault.sign(link_id)}"


def redirect_uri(house: House, platform: str) -> str:
    """Registered with the platform, and the same at both ends of a login."""
    return f"{house.settings.public_url}/connect/{PLATFORMS[platform].name}/callback"


def finish(house: House, request: api.FinishLink) -> api.LinkSession:
    """Somebody came back. Coming again tells how it went. Raises NOT_FOUND for a state that is not ours, or too old."""
    link_id, _, signature = request.state.partition(".")
    if not house.vault.is_signed(link_id, signature):
        raise ApiError(NOT_FOUND)
    platform = parse_platform(request.platform)
    with house.database.transaction() as connection:
        taken = Links(connection).take(link_id, platform, _EXCHANGE_SECONDS)
        link = taken or Links(connection).get(link_id)
    if link is None or link.platform != platform:
        raise ApiError(NOT_FOUND)
    if taken is not None:
        link = _settle(house, taken, request)
    return _view(house, link)


def show(house: House, caller: Caller, request: api.GetLink) -> api.LinkSession:
    """Raises NOT_FOUND, BRAND_NOT_AUTHORIZED."""
    with house.database.reading() as connection:
        link = _reached(caller, Links(connection).get(request.session_id))
    return _view(house, link)


def choose(house: House, caller: Caller, request: api.ChooseAccounts) -> api.PagesLinked:
    """Links accounts that were found; those that are linked already stay as they are.

    Raises NOT_FOUND (with field account_ids for an account that was not found), BRAND_NOT_AUTHORIZED,
    POST_IN_PROGRESS before anybody came back.
    """
    work = partial(_choose, house, caller, request)
    return once(house.database, caller, work, partial(_chosen, house, caller))


def _chosen(house: House, caller: Caller, result: str) -> api.PagesLinked:
    """What the same operation gets again: the pages as they are by now."""
    page_ids = msgspec.json.decode(result, type=list[str])
    with house.database.reading() as connection:
        rows = Pages(connection).many(page_ids)
    for row in rows.values():
        caller.check_reach(row.account_id, row.brand_id)
    return api.PagesLinked(pages=tuple(rows[page_id].view() for page_id in page_ids))


def _choose(house: House, caller: Caller, request: api.ChooseAccounts) -> api.PagesLinked:
    with house.database.transaction() as connection:
        operations = Operations(connection)
        operations.begin(caller)
        link = _reached(caller, Links(connection).get(request.session_id, lock=True))
        if link.state != "found":
            raise ApiError(
                POST_IN_PROGRESS, "Nobody has come back from the platform with accounts to choose from."
            )
        finds = _finds(house, link)
        known = {find.account_id for find in finds}
        if any(account_id not in known for account_id in request.account_ids):
            raise ApiError(NOT_FOUND, "There is no such account in this session.", field="account_ids")
        linked = _linked(house, connection, link, finds, set(request.account_ids))
        found = [find.page_id for find in linked if find.account_id in request.account_ids]
        result = msgspec.json.encode([page_id for page_id in found if page_id]).decode()
        operations.end(caller, result)
    pages.wake_linked()
    return _chosen(house, caller, result)


def forget_links(house: House) -> int:
    """One tick: removes what has expired, credentials nobody chose among it."""
    with house.database.transaction() as connection:
        return Links(connection).forget_old(_FORGET_AT_ONCE)


def _settle(house: House, link: LinkRow, request: api.FinishLink) -> LinkRow:
    """What came of a claimed return, written down whatever it is."""
    state, values, finds = (
        "failed",
        {"error_code": "UNFORESEEN", "error_message": "Something went wrong."},
        [],
    )
    try:
        if request.error or not request.code:
            state, values = _unhappy(request)
        else:
            with house.live_call(link.account_id):
                finds = _find(house, link, request.code)
            state, values = "found", {"found": house.vault.seal(Finds(accounts=tuple(finds)))}
    except PlatformRefusal as refusal:
        values = {"error_code": refusal.code, "error_message": refusal.message}
    except ApiError as error:
        values = {"error_code": error.code, "error_message": error.message}
    except Exception:
        log.exception("linking_failed_unforeseen", link_id=link.id)
    with house.database.transaction() as connection:
        ended = Links(connection).end(link.id, state, _storable(values), _CHOICE_SECONDS)
        if ended is not None and finds:
            _linked(
                house,
                connection,
                ended,
                finds,
                set(Pages(connection).linked_accounts(ended.brand_id, ended.platform)),
            )
            ended = Links(connection).get(link.id)
    log.info("link_came_back", link_id=link.id, platform=link.platform, state=state, accounts=len(finds))
    if finds:
        pages.wake_linked()
    if ended is None:  # its time was over meanwhile
        raise ApiError(NOT_FOUND)
    return ended


def _unhappy(request: api.FinishLink) -> tuple[str, dict[str, str]]:
    code = request.error or "NO_CODE"
    message = request.error_description or "The platform gave no reason."
    return ("refused" if code in _DECLINED else "failed"), {"error_code": code, "error_message": message}


def _find(house: House, link: LinkRow, code: str) -> list[Find]:
    """Raises PlatformRefusal, ApiError."""
    login = _login(house, link.platform)
    try:
        verifier = house.vault.decrypt(link.verifier)
    except UnreadableCredential as error:
        raise ApiError(NOT_FOUND) from error
    tokens = login.exchange(code, redirect_uri(house, link.platform), verifier)
    with house.database.reading() as connection:
        finds = [_find_of(found, connection) for found in login.accounts(tokens)]
    if not finds:
        raise ApiError(
            NOT_FOUND, "The login gives access to no page, profile or channel that could be linked."
        )
    return finds


def _find_of(found: Found, connection: Connection) -> Find:
    profile = found.profile
    return Find(
        account_id=found.account_id,
        name=content.storable(profile.name),
        username=profile.username and content.storable(profile.username),
        followers=profile.followers,
        picture=profile.picture and content.storable(profile.picture),
        grant=Grant.of(found.tokens, found.grant_id, connection),
    )


def _linked(
    house: House, connection: Connection, link: LinkRow, finds: Sequence[Find], chosen: set[str]
) -> list[Find]:
    """The finds, those of them that are chosen linked; kept with the session."""
    linked = [
        _link(house, connection, link, find) if find.account_id in chosen and not find.page_id else find
        for find in finds
    ]
    Links(connection).save_found(link.id, house.vault.seal(Finds(accounts=tuple(linked))))
    return linked


def _link(house: House, connection: Connection, link: LinkRow, find: Find) -> Find:
    values = {
        "id": new_id("pag"),
        "account_id": link.account_id,
        "brand_id": link.brand_id,
        "brand_name": link.brand_name,
        "platform": link.platform,
        "remote_account_id": find.account_id,
        "access_token": house.vault.seal(find.grant.credentials),
        "name": find.name,
        "username": find.username,
        "followers": find.followers,
        "picture": find.picture,
        "grant_id": find.grant.grant_id,
        "renew_at": find.grant.renew_at,
    }
    return msgspec.structs.replace(find, page_id=pages.store_link(connection, values).id)


def _view(house: House, link: LinkRow) -> api.LinkSession:
    finds = _finds(house, link)
    status = _STATUS.get(link.state) or ("linked" if all(find.page_id for find in finds) else "choose")
    error = None
    if link.error_code is not None:
        error = api.PostError(code=link.error_code, message=link.error_message or "")
    return api.LinkSession(
        session_id=link.id,
        platform=link.platform,
        brand_id=link.brand_id,
        status=status,
        accounts=tuple(_shown(find) for find in finds),
        error=error,
        expires_at=link.expires_at,
        brand_name=link.brand_name,
    )


def _shown(find: Find) -> api.LinkableAccount:
    names = api.LinkableAccount.__struct_fields__
    return api.LinkableAccount(**{name: getattr(find, name) for name in names})


def _finds(house: House, link: LinkRow) -> list[Find]:
    if link.found is None:
        return []
    try:
        return list(house.vault.unseal(link.found, Finds).accounts)
    except UnreadableCredential as error:
        raise ApiError(NOT_FOUND) from error


def _reached(caller: Caller, link: LinkRow | None) -> LinkRow:
    if link is None:
        raise ApiError(NOT_FOUND)
    caller.check_reach(link.account_id, link.brand_id)
    return link


def _login(house: House, platform: str) -> Login:
    if platform not in PLATFORMS:
        raise invalid("platform", f"must be one of {', '.join(PLATFORMS)}")
    login = house.logins.get(platform)
    if login is None:
        message = f"Linking {PLATFORMS[platform].name} is not configured on this server."
        raise ApiError(UNSUPPORTED_PLATFORM, message, platform=platform)
    return login


def _storable(values: dict[str, str]) -> dict[str, str]:
    """A platform's words as PostgreSQL takes them."""
    return {name: content.storable(value) if name != "found" else value for name, value in values.items()}
