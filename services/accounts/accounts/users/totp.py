"""The second factor of a sign-in, which each person may turn on: a code of an authenticator app, or a recovery code.

A code is accepted once. The secret is derived from TOKEN_SECRET and the row's id, so that it is not in the database.
"""

from accounts import access, audit, derived_secrets
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.sign_up_tries import TryStore
from accounts.store.totps import TotpRow, TotpStore
from accounts.store.users import UserStore
from accounts.users import limits, mails, passwords, totp_codes
from chassis.db.clock import now
from chassis.db.database import Database
from chassis.db.operations import Operations, once
from chassis.ids import new_id
from contracts.accounts import (
    BeginTotp,
    BegunTotp,
    ConfirmTotp,
    DisableTotp,
    Totp,
    TotpDisabled,
    TotpEnabled,
    UserId,
)
from contracts.caller import Caller
from contracts.errors import INVALID_TOTP, TOTP_ALREADY_ON, TOTP_REQUIRED, ApiError, invalid
from contracts.record import Nothing

_WRONG = "is wrong, has expired, or was used before"


def begin_totp(database: Database, config: AccountsConfig, caller: Caller, request: BeginTotp) -> BegunTotp:
    """Returns a new secret for the app. A sign-in needs no code until `confirm_totp`.

    A repeat of the operation returns the same secret. Raises VALIDATION_ERROR for a wrong password, RATE_LIMITED after
    too many wrong ones, and TOTP_ALREADY_ON if the second factor is on.
    """
    access.check_owner(caller)

    def begin() -> BegunTotp:
        check_password(database, caller, request.password)
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            totp_id = new_id("otp")
            if not TotpStore(connection).begin(caller.account_id, totp_id):
                raise ApiError(TOTP_ALREADY_ON)
            operations.end(caller, totp_id)
        return begun(totp_id)

    def begun(totp_id: str) -> BegunTotp:
        with database.reading() as connection:
            email = access.account(connection, caller.account_id).email
        secret = derived_secrets.totp_secret(config, totp_id)
        url = totp_codes.otpauth_url(secret, email=email, issuer=mails.host_of(config))
        return BegunTotp(secret=secret, otpauth_url=url)

    return once(database, caller, begin, begun)


def confirm_totp(
    database: Database, config: AccountsConfig, caller: Caller, request: ConfirmTotp
) -> TotpEnabled:
    """Turns the second factor on with the first code of the app; returns the recovery codes, which are shown only now.

    A repeat of the operation returns the same codes. Raises VALIDATION_ERROR for a wrong code, RATE_LIMITED after too
    many wrong ones, and TOTP_ALREADY_ON if the second factor is on.
    """
    access.check_owner(caller)

    def confirm() -> TotpEnabled:
        with database.reading() as connection:
            counted = limits.count_totp(connection, caller.account_id)
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            store = TotpStore(connection)
            found = store.find(caller.account_id)
            if found is None:
                raise invalid("totp_code", "has no secret yet: begin with POST /auth/totp")
            if found.enabled_at is not None:
                raise ApiError(TOTP_ALREADY_ON)
            step = _step(connection, config, found, totp_codes.plain(request.totp_code))
            if step is None or not store.enable(caller.account_id, found.id, step):
                raise invalid("totp_code", _WRONG)
            codes = derived_secrets.recovery_codes(config, found.id)
            store.add_recovery_codes(caller.account_id, [totp_codes.hashed(code) for code in codes])
            TryStore(connection).give_back([counted])
            audit.note_of_user(connection, caller.user_id, caller.account_id, "totp.enabled")
            operations.end(caller, found.id)
        return enabled(found.id)

    def enabled(totp_id: str) -> TotpEnabled:
        codes = derived_secrets.recovery_codes(config, totp_id)
        return TotpEnabled(success=True, recovery_codes=tuple(map(totp_codes.readable, codes)))

    return once(database, caller, confirm, enabled)


def disable_totp(
    database: Database, config: AccountsConfig, caller: Caller, request: DisableTotp
) -> TotpDisabled:
    """Turns the second factor off, with the password and a code. A repeat of the operation changes nothing.

    Raises VALIDATION_ERROR for a wrong password or code, and RATE_LIMITED after too many wrong ones.
    """
    access.check_owner(caller)

    def disable() -> TotpDisabled:
        check_password(database, caller, request.password)
        with database.reading() as connection:
            counted = limits.count_totp(connection, caller.account_id)
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            check_of_session(connection, config, caller, request.totp_code)
            TryStore(connection).give_back([counted])
            _turn_off(connection, caller.user_id, caller.account_id)
            operations.end(caller, "off")
        return TotpDisabled(success=True)

    return once(database, caller, disable, lambda _: TotpDisabled(success=True))


def turn_off_totp(connection: Connection, caller: Caller, request: UserId) -> Totp:
    """Turns off a user's second factor. The operator does so for a person who has lost the app and the recovery codes.
    Raises NOT_FOUND for an unknown user.
    """
    caller.check_operator()
    user = access.account(connection, request.user_id)
    _turn_off(connection, caller.user_id, user.id)
    return Totp(enabled=False, enabled_at=None, recovery_codes_left=0)


def get_totp(connection: Connection, caller: Caller, request: Nothing) -> Totp:
    """Returns whether the caller's account has the second factor turned on, and how many recovery codes are left."""
    access.check_owner(caller)
    store = TotpStore(connection)
    found = store.find(caller.account_id)
    enabled_at = None if found is None else found.enabled_at
    return Totp(
        enabled=enabled_at is not None,
        enabled_at=enabled_at,
        recovery_codes_left=store.recovery_codes_left(caller.account_id),
    )


def is_on(connection: Connection, user_id: str) -> bool:
    found = TotpStore(connection).find(user_id)
    return found is not None and found.enabled_at is not None


def check(connection: Connection, config: AccountsConfig, user_id: str, code: str | None) -> None:
    """Checks and uses up a code of the app or a recovery code. Does nothing if the second factor is off.

    Raises TOTP_REQUIRED if no code is given, and INVALID_TOTP for a code that is wrong or was used before.
    """
    store = TotpStore(connection)
    found = store.find(user_id)
    if found is None or found.enabled_at is None:
        return
    given = totp_codes.plain(code or "")
    if not given:
        raise ApiError(TOTP_REQUIRED)
    if totp_codes.is_of_app(given):
        step = _step(connection, config, found, given)
        is_right = step is not None and store.use_step(user_id, step)
    else:
        is_right = store.use_recovery_code(user_id, totp_codes.hashed(given))
    if not is_right:
        raise ApiError(INVALID_TOTP)


def check_of_session(
    connection: Connection, config: AccountsConfig, caller: Caller, code: str | None
) -> None:
    """Checks and uses up a code of the app or a recovery code, for a person who is signed in. Raises VALIDATION_ERROR
    for a missing or wrong code; does nothing if the second factor is off.
    """
    try:
        check(connection, config, caller.account_id, code)
    except ApiError as error:
        is_missing = error.row is TOTP_REQUIRED
        raise invalid(
            "totp_code", "is needed: the account asks for codes" if is_missing else _WRONG
        ) from None


def _step(connection: Connection, config: AccountsConfig, found: TotpRow, code: str) -> int | None:
    return totp_codes.step_of(derived_secrets.totp_secret(config, found.id), code, now(connection))


def _turn_off(connection: Connection, actor_id: str, user_id: str) -> None:
    if TotpStore(connection).delete(user_id):
        audit.note_of_user(connection, actor_id, user_id, "totp.disabled")


def check_password(database: Database, caller: Caller, password: str) -> None:
    """Checks the password of the caller's account. Raises VALIDATION_ERROR, and RATE_LIMITED after too many wrong
    ones."""
    with database.reading() as connection:
        counted = limits.count_change(connection, caller.account_id)
        password_hash = UserStore(connection).password_hash(caller.account_id)
    if password_hash is None or not passwords.matches(password_hash, password):
        raise invalid("password", "is wrong")
    with database.reading() as connection:
        TryStore(connection).give_back([counted])
