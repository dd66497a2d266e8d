"""Credentials renewed ahead of their end, one at a time per page; those of unlinked pages given back.

claim → begin → call → record: a new refresh token is stored before anything uses it. Only the platform's definite word
ends a connection; whatever else goes wrong is tried again. Where a call finds a token over sooner, it is renewed at
once.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import msgspec
import structlog

from chassis.db import clock
from chassis.runtime.loops import wake
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.platforms import HOUR_SECONDS
from contracts.record import Record
from publishing.context import House
from publishing.credentials import Credentials, UnreadableCredential
from publishing.pages.expiry import expire
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Login, Tokens
from publishing.records import PageRow
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.renewals import Renewal, Renewals
from publishing.task_pool import Task

log = structlog.get_logger()

#: What one call takes at the most (connect 5 s, read 15 s), with room. For the rest of its lease a renewal waits for
#: the database with new tokens in hand: the old ones may be void.
_CALL_SECONDS = 30.0
#: Between looks whether it is back. Our choice.
_PAUSE_SECONDS = 0.5
#: The wait after a first failure; doubles up to an hour. Our choice.
_FIRST_WAIT_SECONDS = 30.0
#: Tries at giving a permission back. Our choice.
_REVOKE_TRIES = 6
#: A token that is refused so soon after it was renewed will not get better by renewing it. Our choice.
_FRESH = timedelta(minutes=2)


class Grant(Record):
    """Credentials as they are stored, and when they are to be renewed."""

    credentials: Credentials
    grant_id: str
    renew_at: datetime | None

    @classmethod
    def of(cls, tokens: Tokens, grant_id: str, connection: Connection) -> "Grant":
        """Tokens that have come just now."""
        now = clock.now(connection)
        lifetime = tokens.lifetime_seconds
        credentials = Credentials(
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            expires_at=None if lifetime is None else now + timedelta(seconds=lifetime),
            scopes=tokens.scopes,
        )
        return cls(credentials=credentials, grant_id=grant_id, renew_at=renew_at(now, tokens))


def renew_at(now: datetime, tokens: Tokens) -> datetime | None:
    """A tenth of the lifetime before the end, ten minutes at least, never in the first half (our choice).

    None: there is nothing to renew, or no end.
    """
    lifetime = tokens.lifetime_seconds
    if tokens.refresh_token is None or lifetime is None:
        return None
    return now + timedelta(seconds=lifetime - min(max(lifetime / 10, 600.0), lifetime / 2))


def renew_credentials(house: House) -> int:
    """One tick: claims pages whose time has come and starts renewing; how many."""
    return house.side.fill("renewals", partial(_claim, house))


def _claim(house: House, places: int) -> list[Task]:
    with house.database.transaction() as connection:
        claimed = Renewals(connection).claim(places, house.settings.renewal_lease_seconds)
    return [partial(run, house, renewal) for renewal in claimed]


def renew_now(house: House, page: PageRow) -> PageRow | None:
    """The page afterwards, with new credentials or expired; None when that is not known yet."""
    with house.database.transaction() as connection:
        renewal = Renewals(connection).claim_one(page.id, house.settings.renewal_lease_seconds)
    if renewal is None:
        return None
    run(house, renewal)
    with house.database.reading() as connection:
        after = Pages(connection).get(page.id)
    if after is None or (after.access_token == page.access_token and not after.expired):
        return None
    return after


def softened(
    house: House, page: PageRow, refusal: PlatformRefusal, *, hastens: bool = True
) -> PlatformRefusal:
    """The refusal as it counts for the caller: a token that is over but can be renewed is only not good now.

    Its renewal, which may end in page.expired, comes at once if this `hastens` it.
    """
    if refusal.kind is not Refusal.EXPIRED or not can_renew(house, page):
        return refusal
    if hastens:
        with house.database.transaction() as connection:
            Renewals(connection).hasten(page)
        wake("renew_credentials")
    return PlatformRefusal(Refusal.TRANSIENT, refusal.code, refusal.message)


def run(house: House, renewal: Renewal) -> None:
    """One page's turn."""
    page = renewal.page
    try:
        credentials = house.vault.credentials(page.access_token)
    except UnreadableCredential:
        _end(house, renewal)
        return
    login = house.logins.get(page.platform)
    turn: Callable[[], None]
    if page.unlinked_at is not None:
        turn = partial(_revoke, house, login, renewal, credentials)
    elif login is None or credentials.refresh_token is None:
        turn = partial(_end, house, renewal)
    else:
        turn = partial(_refresh, house, login, renewal, credentials)
    try:
        turn()
    except PlatformRefusal as refusal:
        log.warning("renewal_refused", page_id=page.id, kind=refusal.kind, code=refusal.code)
        _put_off(house, renewal, refusal.wait_seconds)
    except Exception:
        log.exception("renewal_failed_unforeseen", page_id=page.id)
        _put_off(house, renewal)


def _refresh(house: House, login: Login, renewal: Renewal, credentials: Credentials) -> None:
    """Raises PlatformRefusal for what may get better."""
    page = renewal.page
    assert credentials.refresh_token is not None
    if not _begin(house, renewal):
        log.warning("claim_lost", page_id=page.id)
        return
    try:
        tokens = login.refresh(credentials.refresh_token)
    except PlatformRefusal as refusal:
        found = house.found_expired(page, refusal)
        if found is None:
            raise
        with house.database.transaction() as connection:
            if Renewals(connection).end(renewal):
                expire(connection, found)
        return
    _patiently(house, partial(_save, house, renewal, credentials, tokens))


def _begin(house: House, renewal: Renewal) -> bool:
    """A token that works once is presented by whoever holds the claim; False: that is somebody else by now."""
    with house.database.transaction() as connection:
        return Renewals(connection).begin(renewal, house.settings.renewal_lease_seconds)


def _save(house: House, renewal: Renewal, before: Credentials, tokens: Tokens) -> None:
    """Stores new tokens; those of a page that was linked anew meanwhile are void."""
    kept = Tokens(
        tokens.access_token,
        tokens.refresh_token or before.refresh_token,
        tokens.lifetime_seconds,
        tokens.scopes or before.scopes,
    )
    with house.database.transaction() as connection:
        grant = Grant.of(kept, renewal.page.grant_id or "", connection)
        after = msgspec.structs.replace(grant.credentials, renewed_at=clock.now(connection))
        is_ours = Renewals(connection).save(renewal, house.vault.seal(after), grant.renew_at)
    log.info("credentials_renewed", page_id=renewal.page.id, kept=is_ours)


def _revoke(house: House, login: Login | None, renewal: Renewal, credentials: Credentials) -> None:
    """Gives an unlinked page's permission back, unless another page lives by it; then the credentials go.

    Raises PlatformRefusal while it may still work.
    """
    with house.database.reading() as connection:
        is_shared = Renewals(connection).is_shared(renewal.page)
    if login is not None and not is_shared:
        try:
            login.revoke(Tokens(credentials.access_token, credentials.refresh_token))
        except PlatformRefusal as refusal:
            if refusal.retryable and renewal.tries < _REVOKE_TRIES:
                raise
            log.warning("revocation_refused", page_id=renewal.page.id, code=refusal.code)
    with house.database.transaction() as connection:
        Renewals(connection).forget(renewal)


def _end(house: House, renewal: Renewal) -> None:
    with house.database.transaction() as connection:
        Renewals(connection).end(renewal)


def _put_off(house: House, renewal: Renewal, wait_seconds: float | None = None) -> None:
    wait = min(_FIRST_WAIT_SECONDS * 2 ** min(renewal.tries - 1, 10), HOUR_SECONDS)
    with house.database.transaction() as connection:
        Renewals(connection).put_off(renewal, max(wait, wait_seconds or 0.0))


def can_renew(house: House, page: PageRow) -> bool:
    """Whether new credentials may help a page whose token is over."""
    if page.platform not in house.logins or page.unlinked_at is not None:
        return False
    try:
        credentials = house.vault.credentials(page.access_token)
    except UnreadableCredential:
        return False
    if credentials.refresh_token is None:
        return False
    if credentials.renewed_at is None:
        return True
    with house.database.reading() as connection:
        return clock.now(connection) - credentials.renewed_at > _FRESH


def _patiently(house: House, store: Callable[[], None]) -> None:
    """What must not be lost is stored when the database is back, if that is while its claim lasts."""
    give_up_at = time.monotonic() + house.settings.renewal_lease_seconds - _CALL_SECONDS
    while True:
        try:
            return store()
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                raise
            time.sleep(_PAUSE_SECONDS)
