"""Sessions: signing in with a password, and ending sessions.

A session is a special token: it has every scope and reaches the whole account. Sessions on brands of other accounts are
in brand_sessions.py.
"""

from msgspec.structs import replace

from accounts import access, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.sessions import SessionStore
from accounts.users import credentials
from chassis.cursor import decode_position, one_page
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.tokens import SESSION_PREFIX, SHOWN_LENGTH, hash_token, make_token
from contracts.accounts import (
    ListSessions,
    LoggedIn,
    LogIn,
    Session,
    SessionEnded,
    SessionId,
    SessionList,
    User,
)
from contracts.caller import EVERY_MANAGE_SCOPE, EVERY_SCOPE, Caller
from contracts.errors import invalid
from contracts.record import Nothing

SCOPES = (EVERY_SCOPE, EVERY_MANAGE_SCOPE)
ID_PREFIX = "ses"
#: Sessions of one account; the oldest ends when another begins. No person has as many devices.
MAX_SESSIONS = 50
#: Ended sessions deleted in one transaction.
_BATCH = 1_000


def log_in(database: Database, config: AccountsConfig, request: LogIn) -> LoggedIn:
    """Signs a person in with a password and begins a session.

    Raises INVALID_CREDENTIALS or RATE_LIMITED, which reveal nothing about the address. Raises EMAIL_NOT_VERIFIED,
    TOTP_REQUIRED and INVALID_TOTP only if the password is right.
    """
    proof = credentials.check(
        database,
        config,
        email=fields.email(request.email),
        password=request.password,
        totp_code=request.totp_code,
        asker=request.asker,
    )
    with database.transaction() as connection:
        user = access.check_verified(access.lock_account(connection, proof.user_id))
        credentials.check_unchanged(connection, proof)
        return _begin(connection, user, request)


def log_out(connection: Connection, caller: Caller, request: Nothing) -> SessionEnded:
    """Ends the caller's session. Raises VALIDATION_ERROR for an API token."""
    if not is_session(caller):
        raise invalid("token", "is an API token: revoke it with DELETE /tokens/{id}")
    announce(connection, caller.account_id, SessionStore(connection).end_one(caller.token_id))
    return SessionEnded(success=True, id=caller.token_id)


def list_sessions(connection: Connection, caller: Caller, request: ListSessions) -> SessionList:
    """Returns one page of the sessions of the caller's account that have not ended, newest first."""
    access.check_owner(caller)
    limit = fields.limit(request.limit)
    found = SessionStore(connection).list_newest_first(
        caller.account_id, limit=limit + 1, before=decode_position(request.cursor)
    )
    page, cursor = one_page(found, limit)
    return SessionList(sessions=tuple(_marked(session, caller) for session in page), next_cursor=cursor)


def end_session(connection: Connection, caller: Caller, request: SessionId) -> SessionEnded:
    """Ends a session of the caller's account; repeating it changes nothing. Raises NOT_FOUND for an unknown session."""
    access.check_owner(caller)
    store = SessionStore(connection)
    if not store.exists(caller.account_id, fields.known_id(request.id)):
        raise fields.not_found()
    announce(connection, caller.account_id, store.end(caller.account_id, request.id))
    return SessionEnded(success=True, id=request.id)


def end_all(connection: Connection, account_id: str, *, but: str = "") -> int:
    """Ends the account's own sessions except the session `but`, because the account's password has changed. Returns how
    many it ended. The account's row must be locked.
    """
    store = SessionStore(connection)
    before = store.count(account_id)
    announce(connection, account_id, store.end_all(account_id, but=but))
    return before - store.count(account_id)


def forget(connection: Connection) -> int:
    """Deletes one batch of sessions that ended at least a day ago; brand sessions are kept. Returns how many it
    deleted.
    """
    return SessionStore(connection).delete_ended(limit=_BATCH)


def _begin(connection: Connection, user: User, request: LogIn) -> LoggedIn:
    store, plain = SessionStore(connection), make_token(SESSION_PREFIX)
    session = store.add(
        id=new_id(ID_PREFIX),
        account_id=user.id,
        token_sha256=hash_token(plain),
        name=request.user_agent[: fields.MAX_NAME_LENGTH],
        prefix=plain[:SHOWN_LENGTH],
        scopes=list(SCOPES),
        client_address=request.address,
    )
    announce(connection, user.id, store.end_oldest(user.id, keep=MAX_SESSIONS))
    return LoggedIn(session=session, session_token=plain, timezone=user.timezone, language=user.language)


def _marked(session: Session, caller: Caller) -> Session:
    return replace(session, current=session.id == caller.token_id)


def is_session(caller: Caller) -> bool:
    """Whether the request was made with the token of a session, not with an API token."""
    return caller.token_id.startswith(f"{ID_PREFIX}_")


def announce(connection: Connection, account_id: str, ended: tuple[str, ...]) -> None:
    """Tells the gateways, with an event, to drop the cached callers of sessions that have ended. Does nothing if
    `ended` is empty.
    """
    if ended:
        access.announce_caller_changed(connection, account_id, token_ids=ended)
