"""Renews page credentials before they expire, one renewal at a time per page. Also revokes the credentials of unlinked
pages.

A renewal is claimed and begun before the platform is called. The new refresh token is stored before anything uses it.
Only a definite refusal by the platform ends a connection; after any other failure of a call, the renewal is tried
again. Credentials that no configured key decrypts are not renewed any more. If a call finds its token expired, the
token is renewed at once.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import msgspec
import structlog

from chassis.db import clock
from chassis.runtime.pool import Task
from chassis.vault import UnreadableSecret
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.platforms import DAY_SECONDS, HOUR_SECONDS
from contracts.record import Record
from publishing.context import RENEWALS, AppContext
from publishing.pages.expiry import expire, expiry_in
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Login, Tokens
from publishing.records import Credentials, PageRow
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.renewals import Renewal, Renewals

log = structlog.get_logger()

#: Longer than one call takes (connect 5 s, read 15 s). For the rest of its lease a renewal that holds new tokens waits
#: for the database: the old tokens may be void already.
_CALL_SECONDS = 30.0
#: Wait between tries to reach a database that is down: its return is noticed within half a second.
_PAUSE_SECONDS = 0.5
#: The wait after the first failure; it doubles up to an hour. At least ten minutes of the token's life are left then,
#: enough for five tries.
_FIRST_WAIT_SECONDS = 30.0
#: Tries to revoke the permission of an unlinked page, which take a quarter of an hour. Then the credentials are erased
#: in any case.
_REVOKE_TRIES = 6
#: A token that is refused this soon after its renewal is not renewed again: the next one would be refused too.
_FRESH = timedelta(minutes=2)


class Grant(Record):
    """A page's credentials with the id of the login that granted them, and when to renew them."""

    credentials: Credentials
    grant_id: str
    renew_at: datetime | None

    @classmethod
    def of(cls, tokens: Tokens, grant_id: str, connection: Connection) -> "Grant":
        """Returns the grant to store for tokens that were issued just now."""
        now = clock.now(connection)
        lifetime = tokens.lifetime_seconds
        credentials = Credentials(
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            expires_at=None if lifetime is None else now + timedelta(seconds=lifetime),
            scopes=tokens.scopes,
            app=tokens.app,
        )
        return cls(credentials=credentials, grant_id=grant_id, renew_at=renew_at(now, tokens))


def renew_at(now: datetime, tokens: Tokens) -> datetime | None:
    """Returns when to renew tokens; None without a refresh token, or if they do not expire.

    That is when a tenth of their lifetime is left, or ten minutes if that is more, so that there is time for retries.
    It is never in the first half of the lifetime.
    """
    lifetime = tokens.lifetime_seconds
    if tokens.refresh_token is None or lifetime is None:
        return None
    return now + timedelta(seconds=lifetime - min(max(lifetime / 10, 600.0), lifetime / 2))


def renew_credentials(app: AppContext) -> int:
    """Claims pages whose renewal is due and starts the renewals. Returns how many it claimed."""
    return app.side.fill("renewals", partial(_claim, app))


def _claim(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        claimed = Renewals(connection).claim(places, app.settings.renewal_lease_seconds)
    return [partial(run, app, renewal) for renewal in claimed]


def renew_now(app: AppContext, page: PageRow) -> PageRow | None:
    """Renews a page's credentials at once. Returns the page, renewed or marked as expired; None if nothing changed."""
    with app.database.transaction() as connection:
        renewal = Renewals(connection).claim_one(page.id, app.settings.renewal_lease_seconds)
    if renewal is None:
        return None
    run(app, renewal)
    with app.database.reading() as connection:
        after = Pages(connection).get(page.id)
    if after is None or (after.access_token == page.access_token and not after.expired):
        return None
    return after


def effective_refusal(
    app: AppContext, page: PageRow, refusal: PlatformRefusal, *, hastens: bool = True
) -> PlatformRefusal:
    """Returns the refusal that the caller should act on: a temporary failure if the token has expired but can be
    renewed, otherwise `refusal`.

    `hastens`: whether the renewal becomes due at once. If the platform refuses the renewal, the page expires.
    """
    if refusal.kind is not Refusal.EXPIRED or not can_renew(app, page):
        return refusal
    if hastens:
        with app.database.transaction() as connection:
            Renewals(connection).hasten(page)
        RENEWALS.wake()
    return PlatformRefusal(Refusal.TRANSIENT, refusal.code, refusal.message)


def run(app: AppContext, renewal: Renewal) -> None:
    """Renews the credentials of one claimed page, or revokes them if the page is unlinked."""
    page = renewal.page
    try:
        credentials = Credentials.opened(app.vault, page.access_token)
    except UnreadableSecret:
        _end(app, renewal)
        return
    login = app.login_of(page.platform, credentials)
    turn: Callable[[], None]
    if page.unlinked_at is not None:
        turn = partial(_revoke, app, login, renewal, credentials)
    elif credentials.refresh_token is None:
        turn = partial(_end, app, renewal)
    elif login is None:
        turn = partial(_wait_for_app, app, renewal)
    else:
        turn = partial(_refresh, app, login, renewal, credentials)
    try:
        turn()
    except PlatformRefusal as refusal:
        log.warning("renewal_refused", page_id=page.id, kind=refusal.kind, code=refusal.code)
        _put_off(app, renewal, refusal.wait_seconds)
    except Exception:
        log.exception("renewal_failed_unforeseen", page_id=page.id)
        _put_off(app, renewal)


def _refresh(app: AppContext, login: Login, renewal: Renewal, credentials: Credentials) -> None:
    """Renews the credentials. Marks the page as expired if the platform says that the connection has ended. Raises
    PlatformRefusal for any other refusal, because a later try may succeed.
    """
    page = renewal.page
    assert credentials.refresh_token is not None
    if not _begin(app, renewal):
        log.warning("claim_lost", page_id=page.id)
        return
    try:
        tokens = login.refresh(credentials.refresh_token)
    except PlatformRefusal as refusal:
        found = expiry_in(app, page, refusal)
        if found is None:
            raise
        with app.database.transaction() as connection:
            if Renewals(connection).end(renewal):
                expire(connection, found)
        return
    _patiently(app, partial(_save, app, renewal, credentials, tokens))


def _begin(app: AppContext, renewal: Renewal) -> bool:
    """Starts the renewal's lease anew. Returns False if the claim was lost: the refresh token must not be used then,
    because it may work only once.
    """
    with app.database.transaction() as connection:
        return Renewals(connection).begin(renewal, app.settings.renewal_lease_seconds)


def _save(app: AppContext, renewal: Renewal, before: Credentials, tokens: Tokens) -> None:
    """Stores new tokens, unless the page was linked again meanwhile."""
    kept = replace(
        tokens,
        refresh_token=tokens.refresh_token or before.refresh_token,
        scopes=tokens.scopes or before.scopes,
    )
    with app.database.transaction() as connection:
        grant = Grant.of(kept, renewal.page.grant_id or "", connection)
        after = msgspec.structs.replace(grant.credentials, renewed_at=clock.now(connection))
        is_ours = Renewals(connection).save(renewal, app.vault.seal(after), grant.renew_at)
    log.info("credentials_renewed", page_id=renewal.page.id, kept=is_ours)


def _revoke(app: AppContext, login: Login | None, renewal: Renewal, credentials: Credentials) -> None:
    """Revokes an unlinked page's permission at the platform, unless another page uses the same login. Erases the
    credentials.

    Raises PlatformRefusal, and erases nothing, if a later try may succeed.
    """
    with app.database.reading() as connection:
        is_shared = Renewals(connection).is_shared(renewal.page)
    if login is not None and not is_shared:
        try:
            login.revoke(Tokens(credentials.access_token, credentials.refresh_token))
        except PlatformRefusal as refusal:
            if refusal.retryable and renewal.tries < _REVOKE_TRIES:
                raise
            log.warning("revocation_refused", page_id=renewal.page.id, code=refusal.code)
    with app.database.transaction() as connection:
        Renewals(connection).forget(renewal)


def _end(app: AppContext, renewal: Renewal) -> None:
    with app.database.transaction() as connection:
        Renewals(connection).end(renewal)


def _wait_for_app(app: AppContext, renewal: Renewal) -> None:
    """Puts the renewal off for a day: the platform's app is not configured, perhaps by mistake."""
    page = renewal.page
    log.warning("renewal_without_app", page_id=page.id, platform=page.platform)
    _put_off(app, renewal, DAY_SECONDS)


def _put_off(app: AppContext, renewal: Renewal, wait_seconds: float | None = None) -> None:
    wait = min(_FIRST_WAIT_SECONDS * 2 ** min(renewal.tries - 1, 10), HOUR_SECONDS)
    with app.database.transaction() as connection:
        Renewals(connection).put_off(renewal, max(wait, wait_seconds or 0.0))


def can_renew(app: AppContext, page: PageRow) -> bool:
    """Whether new credentials can be fetched for a page whose token was refused."""
    if page.unlinked_at is not None:
        return False
    try:
        credentials = Credentials.opened(app.vault, page.access_token)
    except UnreadableSecret:
        return False
    if credentials.refresh_token is None or app.login_of(page.platform, credentials) is None:
        return False
    if credentials.renewed_at is None:
        return True
    with app.database.reading() as connection:
        return clock.now(connection) - credentials.renewed_at > _FRESH


def _patiently(app: AppContext, store: Callable[[], None]) -> None:
    """Repeats `store` until the database is back, as long as the claim lasts: the new tokens must not be lost."""
    give_up_at = time.monotonic() + app.settings.renewal_lease_seconds - _CALL_SECONDS
    while True:
        try:
            return store()
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                raise
            time.sleep(_PAUSE_SECONDS)
