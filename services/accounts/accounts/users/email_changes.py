"""Changes the e-mail address of an account: requested in a session, confirmed with a link mailed to the new address.

Nothing changes before the confirmation. Only the reader of the new mailbox learns whether the new address has an
account: the answer and the mails do not show it. The old address gets two mails: about the request, and about the
change.
"""

from accounts import access, audit, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.email_changes import EmailChangeRow, EmailChangeStore
from accounts.store.mails import MailStore
from accounts.store.password_resets import PasswordResetStore
from accounts.store.sign_up_tries import TryStore
from accounts.store.users import UserStore
from accounts.users import limits, mails, passwords, totp, verification
from chassis.db.database import Database
from chassis.db.operations import Operations, once
from chassis.ids import new_id
from contracts.accounts import (
    ChangeEmail,
    ConfirmEmailChange,
    EmailChange,
    EmailChangeCancelled,
    EmailChangeLink,
    EmailChangeRequested,
    EmailChangeState,
    MadeEmailLink,
    UserId,
    WaitingEmailChange,
)
from contracts.caller import Caller
from contracts.errors import EMAIL_TAKEN, INVALID_LINK, ApiError, invalid
from contracts.record import Nothing

#: How long the link works: a person opens it at once, or the next morning.
DAYS = 1


def change_email(
    database: Database, config: AccountsConfig, caller: Caller, request: ChangeEmail
) -> EmailChangeRequested:
    """Begins to change the account's e-mail address. Queues two mails: one to the new address, with the link that
    confirms it, and one that informs the old address. Earlier links stop working.

    A repeat of the operation changes nothing. Raises VALIDATION_ERROR for a wrong password or code, and if the new
    address is the present one. Raises RATE_LIMITED after too many tries. A repeat raises INVALID_LINK if the change was
    confirmed or replaced meanwhile.
    """
    access.check_owner(caller)
    email = fields.email(request.email)

    def begin() -> EmailChangeRequested:
        totp.check_password(database, caller, request.password)
        with database.reading() as connection:
            counted = limits.count_totp(connection, caller.account_id)
        with database.transaction() as connection:
            operations = Operations(connection)
            operations.begin(caller)
            user = access.lock_account(connection, caller.account_id)
            if user.email == email:
                raise invalid("email", "is the address of the account already")
            totp.check_of_session(connection, config, caller, request.totp_code)
            TryStore(connection).give_back([counted])
            limits.count_email_change(connection, config, user.id, email)
            store, queue = EmailChangeStore(connection), MailStore(connection)
            if (before := store.find_of(user.id)) is not None:
                queue.delete(f"{before.id}.link")
            row = store.put(change_id=new_id("emc"), user_id=user.id, email=email, days=DAYS)
            queue.add(f"{row.id}.link", "email_change", email=email, details={"change_id": row.id}, days=DAYS)
            queue.add(f"{row.id}.asked", "email_change_asked", email=user.email, details={}, days=DAYS)
            operations.end(caller, row.id)
        return _requested(row)

    def begun(change_id: str) -> EmailChangeRequested:
        with database.reading() as connection:
            row = EmailChangeStore(connection).find_of(caller.account_id)
        if row is None or row.id != change_id:  # confirmed or replaced meanwhile
            raise ApiError(INVALID_LINK)
        return _requested(row)

    return once(database, caller, begin, begun)


def get_email_change(connection: Connection, caller: Caller, request: Nothing) -> EmailChangeState:
    """Returns the change of the caller's address that waits for its confirmation."""
    access.check_owner(caller)
    row = EmailChangeStore(connection).waiting_of(caller.account_id)
    waiting = None if row is None else WaitingEmailChange(email=row.email, expires_at=row.expires_at)
    return EmailChangeState(waiting=waiting)


def cancel_email_change(connection: Connection, caller: Caller, request: Nothing) -> EmailChangeCancelled:
    """Makes the link that confirms the new address invalid, and deletes its mail if it has not been sent. Does nothing
    if no change is waiting."""
    access.check_owner(caller)
    access.lock_account(connection, caller.account_id)
    if (row := EmailChangeStore(connection).delete_of(caller.account_id)) is not None:
        MailStore(connection).delete(f"{row.id}.link")
    return EmailChangeCancelled(success=True)


def view_email_change(
    connection: Connection, config: AccountsConfig, request: EmailChangeLink
) -> EmailChange:
    """Returns the new address that a link confirms. Changes nothing. Raises INVALID_LINK for a link that does not
    work.
    """
    return EmailChange(email=_linked(connection, config, request).email)


def confirm_email_change(
    database: Database, config: AccountsConfig, request: ConfirmEmailChange
) -> EmailChange:
    """Changes the address of the account, uses up the link and informs the old address. Sessions do not end.

    An unverified account at the new address is replaced, as by a sign-up with an invite. Raises INVALID_LINK for a link
    that does not work, VALIDATION_ERROR for a wrong password, RATE_LIMITED after too many wrong ones, and EMAIL_TAKEN
    if a verified account has the new address.
    """
    with database.reading() as connection:
        row = _linked(connection, config, request)
        limits.count_password(connection, row.id)
        password_hash = UserStore(connection).password_hash(row.user_id)
    if password_hash is None or not passwords.matches(password_hash, request.password):
        raise invalid("password", "is not the password of the account")
    with database.transaction() as connection:
        user = access.lock_account(connection, row.user_id)
        store = UserStore(connection)
        if EmailChangeStore(connection).use(row.id) is None or store.password_hash(user.id) != password_hash:
            raise ApiError(INVALID_LINK)
        if (unverified := store.lock_unverified(row.email)) is not None:
            verification.void(connection, unverified, reason="another account confirmed its address")
        if store.set_email(user.id, row.email) is None:
            raise ApiError(EMAIL_TAKEN)
        # Its link is for this account, not for the next one with the address.
        PasswordResetStore(connection).delete_of(user.email)
        MailStore(connection).add(
            f"{row.id}.changed", "email_changed", email=user.email, details={}, days=mails.DAYS
        )
        audit.note_of_user(connection, user.id, user.id, "email.changed")
        access.announce_caller_changed(connection, user.id)
    return EmailChange(email=row.email)


def make_email_link(
    connection: Connection, config: AccountsConfig, caller: Caller, request: UserId
) -> MadeEmailLink:
    """Returns the link that confirms an account's requested change, for the operator to hand over. Raises NOT_FOUND if
    no change is waiting.
    """
    caller.check_operator()
    user = access.account(connection, request.user_id)
    row = EmailChangeStore(connection).waiting_of(user.id)
    if row is None:
        raise fields.not_found()
    return MadeEmailLink(email=row.email, link=mails.email_link(config, row.id), expires_at=row.expires_at)


def forget(connection: Connection) -> None:
    """Deletes requested changes of address that have expired."""
    EmailChangeStore(connection).delete_expired()


def _requested(row: EmailChangeRow) -> EmailChangeRequested:
    return EmailChangeRequested(success=True, email=row.email, expires_at=row.expires_at)


def _linked(connection: Connection, config: AccountsConfig, link: EmailChangeLink) -> EmailChangeRow:
    expected = derived_secrets.email_code(config, link.change_id)
    is_right = derived_secrets.is_code(expected, link.code)
    found = EmailChangeStore(connection).find(link.change_id) if is_right else None
    if found is None:
        raise ApiError(INVALID_LINK)
    return found
