"""Linking pages by OAuth: a session begins, a browser comes back from the platform's login once, the app chooses.

The state that goes to the platform is signed, works once, for ten minutes and in the browser that it was made for; the
code's exchange is claimed before the call. What is found waits for the person's consent (`link_consent.py`). Then
pages of the brand that were linked before get their new credentials, whatever is chosen: their ids stay.
"""

import hmac
import re
import secrets
from collections.abc import Sequence
from functools import partial

import msgspec
import structlog

from chassis.bus.outbox import stage
from chassis.db.operations import Operations, once
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, POST_IN_PROGRESS, UNSUPPORTED_PLATFORM, ApiError, invalid
from contracts.events import ConnectRefused
from contracts.platforms import PLATFORMS, parse_platform
from contracts.record import Record
from publishing.context import House
from publishing.credentials import UnreadableCredential
from publishing.pages import linked_pages
from publishing.pages.renewal import Grant
from publishing.platforms.base import PlatformRefusal
from publishing.platforms.oauth.base import Found, Login
from publishing.rules import content, return_urls
from publishing.store import Connection
from publishing.store.links import LinkRow, Links
from publishing.store.pages import Pages

log = structlog.get_logger()

#: How long the way to the platform and back may take (decisions), how long the pages found wait for the person's
#: consent, and how long they are kept to choose from (both our choice).
_STATE_SECONDS, _CONSENT_SECONDS, CHOICE_SECONDS = 600.0, 600.0, 3_600.0
#: `LNK.BROWSER.SIGNATURE`: the session, the hash of the browser's secret, and our signature over both.
_STATE = re.compile(r"([a-z0-9_]{1,64})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{43})", re.ASCII)
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
    content.check_text(request.account_name, "account_name")
    login_of(house, request.platform)
    if request.return_url is not None:
        return_urls.check(house.settings.return_urls, caller.account_id, request.return_url)
    values = {
        "id": new_id("lnk"),
        "account_id": caller.account_id,
        "brand_id": request.brand_id,
        "brand_name": request.brand_name,
        "account_name": request.account_name,
        "return_url": request.return_url,
        "platform": request.platform,
        "verifier": house.vault.encrypt(secrets.token_urlsafe(48)),
    }
    with house.database.transaction() as connection:
        link = Links(connection).add(values, _STATE_SECONDS)
    url = f"{house.settings.public_url}/connect/start/{link.id}"
    return api.LinkBegun(session_id=link.id, authorize_url=url, expires_at=link.expires_at)


def authorize_url(house: House, link: LinkRow, browser: str) -> str:
    """Returns the platform's login for that browser. Raises NOT_FOUND when no configured key reads the session."""
    bound = f"{link.id}.{browser}"
    state = f"{bound}.{house.vault.sign(bound)}"
    login = login_of(house, link.platform)
    return login.authorize_url(state, redirect_uri(house, link.platform), _verifier(house, link))


def _read_state(house: House, state: str) -> tuple[str, str]:
    """The session and the browser of a state that is ours. Raises NOT_FOUND for any other one.

    One of the release before names no browser: it is refused, and the person begins again.
    """
    parts = _STATE.fullmatch(state)
    if parts is None or not house.vault.is_signed(f"{parts[1]}.{parts[2]}", parts[3]):
        raise ApiError(NOT_FOUND)
    return parts[1], parts[2]


def other_browser() -> ApiError:
    """A session that belongs to another browser; `reason` chooses the words of the page."""
    return ApiError(NOT_FOUND, reason="other_browser")


def redirect_uri(house: House, platform: str) -> str:
    """Registered with the platform, and the same at both ends of a login."""
    return f"{house.settings.public_url}/connect/{PLATFORMS[platform].name}/callback"


def finish(house: House, request: api.FinishLink) -> api.LinkSession:
    """A browser came back; nothing is linked yet. Coming again tells how it went.

    Raises NOT_FOUND for a state that is not ours or too old, and with reason other_browser for one that was made for
    another browser.
    """
    link_id, browser = _read_state(house, request.state)
    platform = parse_platform(request.platform)
    is_same = is_browser(browser, request.browser)
    with house.database.transaction() as connection:
        links = Links(connection)
        taken = links.take(link_id, platform, browser, _EXCHANGE_SECONDS) if is_same else None
        link = taken or links.get(link_id)
        if link is None or link.platform != platform:
            raise ApiError(NOT_FOUND)
        is_owner = is_same and is_browser(link.browser, browser)
        if not is_owner and links.note_refused(link.id):
            _tell_refusal(connection, link)
    if not is_owner:
        raise other_browser()
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
                POST_IN_PROGRESS,
                "There is nothing to choose from before the person has agreed on the page of this session.",
            )
        finds = finds_in(house, link.found)
        known = {find.account_id for find in finds}
        if any(account_id not in known for account_id in request.account_ids):
            raise ApiError(NOT_FOUND, "There is no such account in this session.", field="account_ids")
        linked = link_chosen(house, connection, link, finds, set(request.account_ids))
        found = [find.page_id for find in linked if find.account_id in request.account_ids]
        result = msgspec.json.encode([page_id for page_id in found if page_id]).decode()
        operations.end(caller, result)
    linked_pages.wake_linked()
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
            state, values = "exchanging", {"unconfirmed": house.vault.seal(Finds(accounts=tuple(finds)))}
    except PlatformRefusal as refusal:
        values = {"error_code": refusal.code, "error_message": refusal.message}
    except ApiError as error:
        values = {"error_code": error.code, "error_message": error.message}
    except Exception:
        log.exception("linking_failed_unforeseen", link_id=link.id)
    with house.database.transaction() as connection:
        life_seconds = _CONSENT_SECONDS if finds else CHOICE_SECONDS
        ended = Links(connection).end(link.id, state, _storable(values), life_seconds)
    log.info("link_came_back", link_id=link.id, platform=link.platform, state=state, accounts=len(finds))
    if ended is None:  # its time was over meanwhile
        raise ApiError(NOT_FOUND)
    return ended


def _tell_refusal(connection: Connection, link: LinkRow) -> None:
    """Once a session: the account learns that its address was used by somebody else, or that a cookie was lost."""
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


def _find(house: House, link: LinkRow, code: str) -> list[Find]:
    """Raises PlatformRefusal, ApiError."""
    login = login_of(house, link.platform)
    tokens = login.exchange(code, redirect_uri(house, link.platform), _verifier(house, link))
    with house.database.reading() as connection:
        finds = [_find_of(found, connection) for found in login.accounts(tokens)]
    if not finds:
        raise ApiError(
            NOT_FOUND, "The login gives access to no page, profile or channel that could be linked."
        )
    return finds


def _verifier(house: House, link: LinkRow) -> str:
    """Returns the PKCE verifier. Raises NOT_FOUND when no configured key reads it."""
    try:
        return house.vault.decrypt(link.verifier)
    except UnreadableCredential as error:
        raise ApiError(NOT_FOUND) from error


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


def link_chosen(
    house: House, connection: Connection, link: LinkRow, finds: Sequence[Find], chosen: set[str]
) -> list[Find]:
    """Links the chosen accounts and keeps all with the session. Returns all of them."""
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
    return msgspec.structs.replace(find, page_id=linked_pages.store_link(connection, values).id)


def _view(house: House, link: LinkRow) -> api.LinkSession:
    finds = finds_in(house, link.found)
    return api.LinkSession(
        session_id=link.id,
        platform=link.platform,
        brand_id=link.brand_id,
        status=status_of(link, finds),
        accounts=tuple(shown(find) for find in finds),
        error=error_of(link),
        expires_at=link.expires_at,
        brand_name=link.brand_name,
    )


def status_of(link: LinkRow, finds: Sequence[Find]) -> str:
    """As `contracts.publishing.LinkSession` has it. Until the person agrees nobody sees what was found."""
    return _STATUS.get(link.state) or ("linked" if all(find.page_id for find in finds) else "choose")


def error_of(link: LinkRow) -> api.PostError | None:
    if link.error_code is None:
        return None
    return api.PostError(code=link.error_code, message=link.error_message or "")


def shown(find: Find) -> api.LinkableAccount:
    names = api.LinkableAccount.__struct_fields__
    return api.LinkableAccount(**{name: getattr(find, name) for name in names})


def finds_in(house: House, sealed: str | None) -> list[Find]:
    """Raises NOT_FOUND when no configured key reads them."""
    if sealed is None:
        return []
    try:
        return list(house.vault.unseal(sealed, Finds).accounts)
    except UnreadableCredential as error:
        raise ApiError(NOT_FOUND) from error


def _reached(caller: Caller, link: LinkRow | None) -> LinkRow:
    if link is None:
        raise ApiError(NOT_FOUND)
    caller.check_reach(link.account_id, link.brand_id)
    return link


def is_browser(stored: str | None, given: str) -> bool:
    """Compares hashes of browsers' secrets in constant time; none is like no other."""
    return bool(stored and given) and hmac.compare_digest(str(stored).encode(), given.encode())


def login_of(house: House, platform: str) -> Login:
    """Raises VALIDATION_ERROR, UNSUPPORTED_PLATFORM."""
    if platform not in PLATFORMS:
        raise invalid("platform", f"must be one of {', '.join(PLATFORMS)}")
    login = house.logins.get(platform)
    if login is None:
        message = f"Linking {PLATFORMS[platform].name} is not configured on this server."
        raise ApiError(UNSUPPORTED_PLATFORM, message, platform=platform)
    return login


def _storable(values: dict[str, str]) -> dict[str, str]:
    """A platform's words as PostgreSQL takes them."""
    return {
        name: content.storable(value) if name != "unconfirmed" else value for name, value in values.items()
    }
