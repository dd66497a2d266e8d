"""Sign-up: opening an account without the operator.

A sign-up without an invite reveals whether its address has an account (409 EMAIL_TAKEN). So each attempt is counted
before any lookup (limits.py).
"""

from accounts import fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.users import UserStore
from accounts.users import invites, limits, mails, passwords, users
from chassis.db.database import Database
from contracts.accounts import CreatedUser, SignUp, User
from contracts.caller import Caller
from contracts.errors import EMAIL_TAKEN, INVITE_REQUIRED, SIGNUPS_CLOSED, ApiError


def sign_up(database: Database, config: AccountsConfig, caller: Caller, request: SignUp) -> CreatedUser:
    """Opens an account on the free tier. With an invite the account is verified; without one it is unverified, and a
    verification mail is queued.

    Raises SIGNUPS_CLOSED, INVITE_REQUIRED or RATE_LIMITED, which reveal nothing about the address. Raises EMAIL_TAKEN
    if a verified account has the address or, without an invite, an unverified one. In the second case it first queues
    that account's verification mail again, if the request has its password.
    """
    if config.signups == "off":
        raise ApiError(SIGNUPS_CLOSED)
    email, code = fields.email(request.email), request.invite_code
    if code is None and config.signups == "invite":
        raise ApiError(INVITE_REQUIRED)

    def use_invite(connection: Connection, user: User) -> None:
        invites.use(connection, config, user.email, str(code))

    with database.reading() as connection:
        is_repeated = users.made_by(UserStore(connection), caller) is not None
        if not is_repeated and code is not None:
            invites.check(connection, config, email, code)
        elif not is_repeated:
            limits.count_sign_up(connection, config, request.asker, email)
    try:
        return users.open_account(
            database,
            config,
            caller,
            request,
            tier="free",
            verified=code is not None,
            on_opened=mails.queue_verification if code is None else use_invite,
        )
    except ApiError as error:
        if error.row is EMAIL_TAKEN and code is None:
            _send_mail_again(database, email, request.password)
        raise


def _send_mail_again(database: Database, email: str, password: str) -> None:
    """Queues the verification mail again, if an unverified account has this address and this password."""
    with database.reading() as connection:
        holder = UserStore(connection).find_by_email(email)
        if holder is None or holder.verified:
            return
        password_hash = UserStore(connection).password_hash(holder.id)
    if password_hash is None or not passwords.matches(password_hash, password):
        return
    with database.transaction() as connection:
        unverified = UserStore(connection).lock_unverified(email)
        if unverified is not None and unverified.id == holder.id:
            mails.queue_verification(connection, holder)
