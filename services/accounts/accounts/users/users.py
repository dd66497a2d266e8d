"""Users: opens accounts with their sandbox tokens, reads and edits users, and changes tiers.

The operator opens accounts with `create_user`; everybody else with sign_up.py.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UNSET

from accounts import access, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.tokens import TokenStore
from accounts.store.users import UserStore
from accounts.tokens.scopes import SANDBOX_SCOPES
from accounts.users import passwords, verification
from chassis.cursor import decode_cursor, encode_cursor
from chassis.db.database import Database
from chassis.db.operations import Operations
from chassis.ids import new_id
from chassis.tokens import SHOWN_LENGTH, hash_token
from contracts.accounts import (
    ChangeTier,
    CreatedUser,
    CreateUser,
    EditProfile,
    GetUser,
    ListUsers,
    SignUp,
    User,
    UserList,
)
from contracts.caller import Caller
from contracts.errors import EMAIL_TAKEN, IDEMPOTENCY_KEY_MISMATCH, SERVICE_UNAVAILABLE, ApiError

#: How often an address is checked again because its account was deleted at that moment.
_TRIES = 3


def create_user(
    database: Database, config: AccountsConfig, caller: Caller, request: CreateUser
) -> CreatedUser:
    """Opens a verified account of any tier for the operator; a password is optional.

    Deletes an unverified account with the same address. Raises EMAIL_TAKEN for a verified one.
    """
    caller.check_operator()
    return open_account(database, config, caller, request, tier=fields.tier(request.tier), verified=True)


def open_account(
    database: Database,
    config: AccountsConfig,
    caller: Caller,
    request: CreateUser | SignUp,
    *,
    tier: str,
    verified: bool,
    on_opened: Callable[[Connection, User], None] | None = None,
) -> CreatedUser:
    """Creates an account and its sandbox token. A repeat of the operation returns the same user and token.

    If `verified` is set, the new account replaces an unverified one with the same address. The new account gets another
    id, so that it inherits nothing. The first answer names the id of the replaced account, a repeated answer does not.
    Raises EMAIL_TAKEN if another account has the address and is not replaced.

    `on_opened` is called in the transaction that creates the account.
    """
    profile = {
        "email": fields.email(request.email),
        "firstname": _name("firstname", request.firstname),
        "lastname": _name("lastname", request.lastname),
    }
    password = None if request.password is None else fields.password(request.password)
    with database.reading() as connection:  # before the costly hash; the insert below decides
        user = _repeated(UserStore(connection), caller, profile["email"], takes_over=verified)
    voided: User | None = None
    if user is None:
        password_hash = None if password is None else passwords.hash_password(password)
        values = {**profile, "tier": tier, "password_hash": password_hash}
        with database.transaction() as connection:
            user, voided, is_new = _add(connection, config, caller, values, verified=verified)
            if is_new and on_opened is not None:
                on_opened(connection, user)
    return CreatedUser(
        user=user,
        sandbox_api_token=derived_secrets.sandbox_token(config, user.id),
        voided_user_id=None if voided is None else voided.id,
    )


def _repeated(store: UserStore, caller: Caller, email: str, *, takes_over: bool) -> User | None:
    """Returns the user that an earlier try of this operation created. Raises IDEMPOTENCY_KEY_MISMATCH if that user has
    another address. If there was no such try, returns None, or raises EMAIL_TAKEN if an account has the address.

    `takes_over`: the new user may replace an unverified one, so only a verified account leads to EMAIL_TAKEN.
    """
    holder = store.find_by_email(email)  # first, or a concurrent try that commits in between would be missed
    made = made_by(store, caller)
    if made is None and holder is not None and not (takes_over and not holder.verified):
        raise ApiError(EMAIL_TAKEN)
    if made is not None and made.email != email:
        raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
    return made


def made_by(store: UserStore, caller: Caller) -> User | None:
    """Returns the user that an earlier try of this operation created, if there is one."""
    return store.find_by_operation(caller.operation_id) if caller.operation_id else None


def _add(
    connection: Connection,
    config: AccountsConfig,
    caller: Caller,
    values: dict[str, str | None],
    *,
    verified: bool,
) -> tuple[User, User | None, bool]:
    """Adds a user. Returns the user, the unverified user that it replaced, and whether the user is new."""
    store, email = UserStore(connection), str(values["email"])
    voided: User | None = None
    for _ in range(_TRIES):
        holder = store.lock_unverified(email) if verified else None
        if holder is not None:
            verification.void(connection, holder, reason="a verified account was opened at its address")
            voided = holder
        user = store.add(id=new_id("usr"), operation_id=caller.operation_id, verified=verified, **values)
        if user is not None:
            _add_sandbox_token(connection, config, user)
            return user, voided, True
        repeated = _repeated(store, caller, email, takes_over=verified)
        if repeated is not None:  # another call was first, with the same operation
            return repeated, None, False
    raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)


def _add_sandbox_token(connection: Connection, config: AccountsConfig, user: User) -> None:
    plain = derived_secrets.sandbox_token(config, user.id)
    TokenStore(connection).add(
        id=new_id("tok"),
        account_id=user.id,
        token_sha256=hash_token(plain),
        name="Sandbox",
        prefix=plain[:SHOWN_LENGTH],
        scopes=list(SANDBOX_SCOPES),
        brand_ids=[],
        ip_allowlist=[],
        sandbox=True,
    )


def get_user(connection: Connection, caller: Caller, request: GetUser) -> User:
    """Returns the user whom the request names. The operator may name any user. Everybody else may name only themselves
    and the owner of the account on which they act; another user gives NOT_FOUND.

    Raises EMAIL_NOT_VERIFIED if the request demands a verified user and this one is not.
    """
    if not caller.is_operator and request.user_id not in (caller.user_id, caller.account_id):
        raise fields.not_found()
    user = UserStore(connection).find(fields.known_id(request.user_id))
    if user is None:
        raise fields.not_found()
    return access.check_verified(user) if request.verified else user


def list_users(connection: Connection, caller: Caller, request: ListUsers) -> UserList:
    """Returns one page of all users for the operator, newest first; with an address in the request only the user who
    has it.
    """
    caller.check_operator()
    if request.email is not None:
        user = UserStore(connection).find_by_email(fields.email(request.email))
        return UserList(users=(user,) if user else ())
    before_id = decode_cursor(request.cursor, 1)[0] if request.cursor else None
    found = UserStore(connection).list_all(before_id=before_id, limit=request.limit + 1)
    shown = found[: request.limit]
    return UserList(
        users=tuple(shown), next_cursor=encode_cursor(shown[-1].id) if len(found) > len(shown) else None
    )


def edit_profile(connection: Connection, caller: Caller, request: EditProfile) -> User:
    """Changes those fields of the caller's own profile that the request sets. Repeating it changes nothing."""
    access.check_owner(caller)
    checks: dict[str, Callable[[Any], str | None]] = {
        "firstname": partial(_name, "firstname"),
        "lastname": partial(_name, "lastname"),
        "timezone": lambda value: None if value is None else fields.timezone(value),
        "language": lambda value: None if value is None else fields.language(value),
    }
    checked = {
        name: check(value) for name, check in checks.items() if (value := getattr(request, name)) is not UNSET
    }
    before = access.lock_account(connection, caller.account_id)
    operations = Operations(connection)
    if not checked or operations.lock(caller).result is not None:
        return before
    user = UserStore(connection).change(before.id, **checked)
    access.announce_caller_changed(connection, user.id)
    operations.end(caller, user.id)
    return user


def _name(field: str, value: str) -> str:
    return fields.text(field, value.strip(), max_length=fields.MAX_NAME_LENGTH)


def change_tier(connection: Connection, caller: Caller, request: ChangeTier) -> User:
    """Changes an account's tier from the next request on.

    If the account has more active tokens than the new tier allows, they stay, but no more can be created. Repeating the
    operation changes nothing, also after a later change. Raises NOT_FOUND for an unknown user, and EMAIL_NOT_VERIFIED
    for an unverified one.
    """
    caller.check_operator()
    tier = fields.tier(request.tier)
    before = access.check_verified(access.lock_account(connection, request.user_id))
    operations = Operations(connection)
    if operations.lock(caller).result is not None:
        return before
    user = UserStore(connection).set_tier(request.user_id, tier)
    assert user is not None, "locked above"
    access.announce_caller_changed(connection, user.id)
    access.announce_account_changed(connection, user)
    operations.end(caller, user.id)
    return user
