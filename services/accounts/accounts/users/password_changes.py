"""Sets new passwords: with a link from a mail or from the operator, or with the current password.

Sessions end when the password changes. A reset link works once, and for an hour. A person with a mailed link can read
the mailbox. Only verified accounts get links, because an unverified account may belong to somebody who cannot read it.
"""

from accounts import access, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.mails import MailStore
from accounts.store.password_resets import PasswordResetStore, ResetRow
from accounts.store.sign_up_tries import TryStore
from accounts.store.users import UserStore
from accounts.users import limits, mails, passwords, sessions
from chassis.db.database import Database
from chassis.db.operations import Operations, once
from chassis.ids import new_id
from contracts.accounts import (
    ChangePassword,
    MadeResetLink,
    MakeResetLink,
    PasswordChanged,
    PasswordReset,
    RequestReset,
    ResetLink,
    ResetPassword,
)
from contracts.caller import Caller
from contracts.errors import INVALID_LINK, ApiError, invalid
from contracts.record import Nothing

#: A mail with a reset link is of use for an hour (`password_resets.VALID_FOR`); it is tried no longer than this.
_MAIL_DAYS = 1


def request_reset(database: Database, config: AccountsConfig, request: RequestReset) -> Nothing:
    """Queues a mail with a reset link. The mail is sent only if a verified account has the address. An earlier link
    becomes invalid.

    Nobody can tell from the answer whether the address has an account: the same row is stored for every address, and
    only the loop that sends the mails looks for the account. Raises RATE_LIMITED after too many requests, with or
    without an account.
    """
    email = fields.email(request.email)
    with database.reading() as connection:
        limits.count_reset(connection, config, request.asker, email)
    with database.transaction() as connection:
        row = PasswordResetStore(connection).put(email=email, id=new_id("rst"))
        details = {"reset_id": row.id}
        MailStore(connection).add(row.id, "reset", email=email, details=details, days=_MAIL_DAYS)
    return Nothing()


def make_reset_link(
    connection: Connection, config: AccountsConfig, caller: Caller, request: MakeResetLink
) -> MadeResetLink:
    """Returns a new reset link, which the operator hands over; an earlier link becomes invalid.

    Raises NOT_FOUND if no account has the address, and EMAIL_NOT_VERIFIED if the account is not verified.
    """
    caller.check_operator()
    email = fields.email(request.email)
    user = UserStore(connection).find_by_email(email)
    if user is None:
        raise fields.not_found("email")
    access.check_verified(user)
    row = PasswordResetStore(connection).put(email=email, id=new_id("rst"))
    return MadeResetLink(link=mails.reset_link(config, row.id), expires_at=row.expires_at)


def view_reset(connection: Connection, config: AccountsConfig, request: ResetLink) -> PasswordReset:
    """Returns the address of the account whose password the link resets. Changes nothing. Raises INVALID_LINK for a
    link that does not work.
    """
    return PasswordReset(email=_linked(connection, config, request).email)


def reset_password(database: Database, config: AccountsConfig, request: ResetPassword) -> PasswordReset:
    """Sets a new password, uses up the reset link and ends every session. Raises INVALID_LINK for a link that does not
    work, and VALIDATION_ERROR for a password that is not allowed.
    """
    with database.reading() as connection:
        _linked(connection, config, request)
    password_hash = passwords.hash_password(fields.password(request.password))
    with database.transaction() as connection:
        row = PasswordResetStore(connection).use(request.reset_id)
        user = None if row is None else UserStore(connection).find_by_email(row.email)
        if row is None or user is None or not user.verified:
            raise ApiError(INVALID_LINK)
        access.lock_account(connection, user.id)
        UserStore(connection).set_password(user.id, password_hash)
        sessions.end_all(connection, user.id)
        limits.forget_logins(connection, config, user.email)
    return PasswordReset(email=user.email)


def change_password(database: Database, caller: Caller, request: ChangePassword) -> PasswordChanged:
    """Replaces the caller's password and ends all sessions of the account except the caller's. A repeat of the
    operation changes nothing.

    Raises VALIDATION_ERROR if the current password is wrong, or if the new one is not allowed. Raises RATE_LIMITED
    after too many failed attempts.
    """
    access.check_owner(caller)

    def change() -> PasswordChanged:
        new_password = _new_password(request)
        with database.reading() as connection:
            subject = limits.count_change(connection, caller.account_id)
            current_hash = UserStore(connection).password_hash(caller.account_id)
        if current_hash is None or not passwords.matches(current_hash, request.current_password):
            raise invalid("current_password", "is wrong")
        new_hash = passwords.hash_password(new_password)
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            access.lock_account(connection, caller.account_id)
            users = UserStore(connection)
            if users.password_hash(caller.account_id) != current_hash:  # another change came first
                raise invalid("current_password", "is wrong")
            users.set_password(caller.account_id, new_hash)
            TryStore(connection).give_back([subject])
            ended = sessions.end_all(connection, caller.account_id, but=caller.token_id)
            operations.end(caller, str(ended))
        return PasswordChanged(success=True, ended_sessions=ended)

    return once(
        database, caller, change, lambda ended: PasswordChanged(success=True, ended_sessions=int(ended))
    )


def forget(connection: Connection) -> None:
    """Deletes expired reset links."""
    PasswordResetStore(connection).delete_expired()


def _linked(connection: Connection, config: AccountsConfig, link: ResetLink) -> ResetRow:
    expected = derived_secrets.reset_code(config, link.reset_id)
    found = (
        PasswordResetStore(connection).find(link.reset_id)
        if derived_secrets.is_code(expected, link.code)
        else None
    )
    if found is None:
        raise ApiError(INVALID_LINK)
    return found


def _new_password(request: ChangePassword) -> str:
    try:
        return fields.password(request.new_password)
    except ApiError as error:
        raise invalid("new_password", error.extras["errors"][0]["message"]) from None
