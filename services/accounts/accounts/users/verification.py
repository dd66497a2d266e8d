"""Verifies the e-mail address of a new account, and deletes accounts that stay unverified.

The link in the mail proves ownership of the mailbox; the password proves that the reader is the person who signed up.
With the link alone, the owner of a mailbox could verify a stranger's account for that address.
"""

import structlog

from accounts import access, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.invites import InviteStore
from accounts.store.mails import MailStore
from accounts.store.sign_up_tries import TryStore
from accounts.store.tokens import TokenStore
from accounts.store.users import UserStore
from accounts.users import limits, mails, passwords
from chassis.db.database import Database
from contracts.accounts import (
    ConfirmVerification,
    MadeVerificationLink,
    User,
    UserId,
    UserList,
    Verification,
    VerificationLink,
)
from contracts.caller import Caller
from contracts.errors import invalid

log = structlog.get_logger()

#: How long an account may stay unverified before it is deleted and its address is free again: a week covers a holiday
#: of the person or a full mailbox.
UNVERIFIED_DAYS = 7
#: Accounts deleted in one transaction.
_BATCH = 100
#: Unverified accounts shown: more than an operator reads.
_MAX_LISTED = 1_000


def view(connection: Connection, config: AccountsConfig, request: VerificationLink) -> Verification:
    """Returns the e-mail address that a link verifies. Changes nothing. Raises NOT_FOUND for an invalid link."""
    return _verification(_linked(connection, config, request))


def confirm(database: Database, config: AccountsConfig, request: ConfirmVerification) -> Verification:
    """Verifies the e-mail address of a new account; repeating it changes nothing.

    Raises NOT_FOUND for a link that does not work, VALIDATION_ERROR for a wrong password, and RATE_LIMITED after too
    many wrong ones.
    """
    with database.reading() as connection:
        user = _linked(connection, config, request)
        limits.count_password(connection, user.id)
        password_hash = UserStore(connection).password_hash(user.id)
    if password_hash is None or not passwords.matches(password_hash, request.password):
        raise invalid("password", "is not the password from the sign-up")
    with database.transaction() as connection:
        return _verification(_verify(connection, user.id))


def refuse(connection: Connection, config: AccountsConfig, request: VerificationLink) -> Verification:
    """Deletes an unverified account, because the owner of the mailbox says that they did not sign up. The request comes
    from the page of the link in the verification mail. A verified account is not deleted.

    Raises NOT_FOUND for a link that does not work, and if the account was deleted before.
    """
    user = _linked(connection, config, request)
    held = UserStore(connection).lock_unverified(user.email)
    if held is None or held.id != user.id:
        return _verification(access.account(connection, user.id))
    void(connection, held, reason="refused by the owner of the mailbox")
    return _verification(held)


def verify_user(connection: Connection, caller: Caller, request: UserId) -> User:
    """Verifies a user's e-mail address for the operator. A verified account stays as it is. Raises NOT_FOUND for an
    unknown user.
    """
    caller.check_operator()
    return _verify(connection, fields.known_id(request.user_id, field="user_id"))


def make_verification_link(
    connection: Connection, config: AccountsConfig, caller: Caller, request: UserId
) -> MadeVerificationLink:
    """Returns the link of the verification mail for the operator to hand over; its page still asks for the password.
    Raises NOT_FOUND for an unknown user.
    """
    caller.check_operator()
    user = access.account(connection, request.user_id)
    return MadeVerificationLink(
        email=user.email, verified=user.verified, link=mails.verification_link(config, user.id)
    )


def list_unverified(connection: Connection, caller: Caller) -> UserList:
    """Returns unverified accounts for the operator, newest first."""
    caller.check_operator()
    return UserList(users=tuple(UserStore(connection).list_unverified(limit=_MAX_LISTED)))


def void(connection: Connection, user: User, *, reason: str) -> None:
    """Deletes an unverified account with its sandbox token and pending mail; it owns nothing else. Its row must be
    locked.

    `reason` is written to the log.
    """
    TokenStore(connection).delete_of(user.id)
    MailStore(connection).delete_verification(user.id)
    UserStore(connection).delete(user.id)
    access.announce_caller_changed(connection, user.id)
    log.info("unverified_account_deleted", user_id=user.id, reason=reason)


def forget(connection: Connection) -> int:
    """Deletes one batch of accounts that stayed unverified for too long. Deletes expired invites as well, and the
    counts of tries (limits.py) of past windows. Returns how many accounts it deleted.
    """
    InviteStore(connection).delete_expired()
    TryStore(connection).delete_old()
    lapsed = UserStore(connection).lock_lapsed(UNVERIFIED_DAYS, limit=_BATCH)
    for user in lapsed:
        void(connection, user, reason="not verified in time")
    return len(lapsed)


def _linked(connection: Connection, config: AccountsConfig, link: VerificationLink) -> User:
    user_id = fields.known_id(link.user_id)
    if not derived_secrets.is_code(derived_secrets.verification_code(config, user_id), link.code):
        raise fields.not_found()
    user = UserStore(connection).find(user_id)
    if user is None:
        raise fields.not_found()
    return user


def _verify(connection: Connection, user_id: str) -> User:
    user = UserStore(connection).set_verified(user_id)
    if user is None:  # verified before, or deleted
        return access.account(connection, user_id)
    MailStore(connection).delete_verification(user.id)
    access.announce_caller_changed(connection, user.id)
    log.info("address_verified", user_id=user.id)
    return user


def _verification(user: User) -> Verification:
    return Verification(email=user.email, verified=user.verified)
