"""Invitations to work on a brand. The brand's owner names an address and a role; a link is mailed to the address.

Only somebody who reads the mailbox of the address has the link, or somebody who got it from the operator. So an account
that is opened with the link is verified at once. Only the account with this address gets the role. Nothing that the
brand's owner sees depends on whether the address has an account.
"""

import msgspec

from accounts import access, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.audit import AuditStore
from accounts.store.collaborators import CollaboratorStore
from accounts.store.invitations import InvitationStore
from accounts.store.mails import MailStore
from accounts.store.users import UserStore
from accounts.users import credentials, limits, mails, totp, users
from chassis.cursor import decode_position, one_page
from chassis.db.database import Database
from chassis.db.operations import Operations
from chassis.ids import new_id
from contracts.accounts import (
    AcceptedInvitation,
    AcceptInvitation,
    Invitation,
    InvitationLink,
    InvitationList,
    InvitationWithdrawn,
    InvitePerson,
    ListInvitations,
    MadeInvitationLink,
    MakeInvitationLink,
    OpenedInvitation,
    SignUp,
    User,
    WithdrawInvitation,
)
from contracts.caller import Caller
from contracts.errors import EMAIL_TAKEN, INVALID_LINK, SIGNUPS_CLOSED, ApiError, invalid

#: The owner is not a collaborator and has no role.
ROLES = ("full", "limited")
#: How long an invitation is valid: as long as an unverified account waits.
DAYS = 7


def invite_person(
    connection: Connection, config: AccountsConfig, caller: Caller, request: InvitePerson
) -> Invitation:
    """Invites an address to a brand and queues the mail. An earlier invitation of the same address to the brand becomes
    invalid.

    Repeating the operation changes nothing. Raises NOT_FOUND for an unknown brand, VALIDATION_ERROR for an invalid
    address or role or if the person works on the brand already, and RATE_LIMITED after too many invitations.
    """
    brand = access.own_brand(connection, caller, request.brand_id)
    check_role(request.role)
    email = fields.email(request.email)
    owner = access.lock_account(connection, caller.account_id)
    operations = Operations(connection)
    made_before = operations.lock(caller).result
    if made_before is not None:
        return msgspec.json.decode(made_before, type=Invitation)
    if email == owner.email:
        raise invalid("email", "is the brand's owner")
    if CollaboratorStore(connection).has_address(brand.id, email):
        raise invalid("email", "works on the brand already: change the role with PATCH")
    limits.count_invitation(connection, config, caller.account_id, email)
    cancel(connection, brand.id, email)
    made = InvitationStore(connection).add(
        id=new_id("ivt"), brand_id=brand.id, email=email, role=request.role, days=DAYS
    )
    MailStore(connection).add(
        _mail_id(made.id), "invitation", email=email, details={"invitation_id": made.id}, days=DAYS
    )
    _audit(connection, caller.user_id, made, "collaborator.invited", operation_id=caller.operation_id)
    operations.end(caller, msgspec.json.encode(made).decode())
    return made


def list_invitations(connection: Connection, caller: Caller, request: ListInvitations) -> InvitationList:
    """Returns one page of the invitations to a brand of the caller's account that wait for an answer, newest first.
    Raises NOT_FOUND for any other brand.
    """
    brand = access.own_brand(connection, caller, request.brand_id)
    limit = fields.limit(request.limit)
    found = InvitationStore(connection).list_newest_first(
        brand.id, limit=limit + 1, before=decode_position(request.cursor)
    )
    invitations, cursor = one_page(found, limit)
    return InvitationList(invitations=invitations, next_cursor=cursor)


def withdraw_invitation(
    connection: Connection, caller: Caller, request: WithdrawInvitation
) -> InvitationWithdrawn:
    """Withdraws an invitation, so that its link stops working. Repeating the operation changes nothing.

    Raises NOT_FOUND for an unknown invitation, and for one that was accepted.
    """
    brand = access.own_brand(connection, caller, request.brand_id)
    access.lock_account(connection, caller.account_id)
    audit, action = AuditStore(connection), "collaborator.invitation_withdrawn"
    done = InvitationWithdrawn(success=True, id=fields.known_id(request.id))
    if audit.find_by_operation(caller.operation_id, brand_id=brand.id, action=action, subject_id=request.id):
        return done
    found = InvitationStore(connection).find(request.id)
    if found is None or found.brand_id != brand.id:
        raise fields.not_found()
    cancel(connection, brand.id, found.email)
    _audit(connection, caller.user_id, found, action, operation_id=caller.operation_id)
    return done


def view_invitation(
    connection: Connection, config: AccountsConfig, request: InvitationLink
) -> OpenedInvitation:
    """Returns the brand and role that an invitation's link offers. Changes nothing. Raises INVALID_LINK for a link
    that does not work.
    """
    found = _linked(connection, config, request)
    brand = access.brand(connection, found.brand_id)
    holder = _holder(connection, found.email)
    return OpenedInvitation(
        brand_name=brand.brand.name,
        invited_by=access.account(connection, brand.account_id).email,
        email=found.email,
        role=found.role,
        has_account=holder is not None,
        has_totp=holder is not None and totp.is_on(connection, holder.id),
    )


def accept_invitation(
    database: Database, config: AccountsConfig, caller: Caller, request: AcceptInvitation
) -> AcceptedInvitation:
    """Makes the verified account with the invited address a collaborator of the brand. If there is none, opens it
    first.

    Raises INVALID_LINK for a link that does not work. For an existing account raises INVALID_CREDENTIALS for a wrong
    password, and RATE_LIMITED after too many wrong ones. If this account has the second factor on, raises TOTP_REQUIRED
    for a request without a code, and INVALID_TOTP for a wrong code. Raises SIGNUPS_CLOSED if an account would have to
    be opened, and nobody may sign up.
    """
    with database.reading() as connection:
        found = _linked(connection, config, request)
        holder = _holder(connection, found.email)
    if holder is not None:
        proof = credentials.check(
            database,
            config,
            email=found.email,
            password=request.password,
            totp_code=request.totp_code,
            asker=request.asker,
        )
        with database.transaction() as connection:
            credentials.check_unchanged(connection, proof)
            return _join(connection, found.id, holder)
    if config.signups == "off":
        raise ApiError(SIGNUPS_CLOSED)
    accepted: list[AcceptedInvitation] = []
    opening = SignUp.made_from(request, email=found.email)
    try:
        users.open_account(
            database, config, caller, opening, tier="free", verified=True,
            on_opened=lambda connection, user: accepted.append(_join(connection, found.id, user)),
        )  # fmt: skip
    except ApiError as error:
        if error.row is EMAIL_TAKEN:  # by another request with this link, a moment ago
            raise ApiError(INVALID_LINK) from None
        raise
    if not accepted:  # a repeat: the call before this one has opened the account
        raise ApiError(INVALID_LINK)
    return accepted[0]


def make_invitation_link(
    connection: Connection, config: AccountsConfig, caller: Caller, request: MakeInvitationLink
) -> MadeInvitationLink:
    """Returns the link of an invitation for the operator to hand over. Raises NOT_FOUND if there is no such
    invitation.
    """
    caller.check_operator()
    store = InvitationStore(connection)
    brand = access.brand(connection, request.brand_id).brand
    named = store.find_of(brand.id, fields.email(request.email))
    found = None if named is None else store.find(named.id)
    if found is None:
        raise fields.not_found("email")
    return MadeInvitationLink(link=mails.invitation_link(config, found.id), expires_at=found.expires_at)


def cancel(connection: Connection, brand_id: str, email: str) -> None:
    """Deletes the invitation of an address to a brand, and its mail if that was not sent yet."""
    found = InvitationStore(connection).find_of(brand_id, email)
    if found is not None:
        MailStore(connection).delete(_mail_id(found.id))
        InvitationStore(connection).delete(found.id)


def check_role(role: str) -> None:
    """Raises VALIDATION_ERROR if the role does not exist."""
    if role not in ROLES:
        raise invalid("role", f"must be one of {', '.join(ROLES)}")


def forget(connection: Connection) -> None:
    """Deletes expired invitations."""
    InvitationStore(connection).delete_expired()


def _linked(connection: Connection, config: AccountsConfig, link: InvitationLink) -> Invitation:
    expected = derived_secrets.invitation_code(config, link.invitation_id)
    is_right = derived_secrets.is_code(expected, link.code)
    found = InvitationStore(connection).find(link.invitation_id) if is_right else None
    if found is None:
        raise ApiError(INVALID_LINK)
    return found


def _holder(connection: Connection, email: str) -> User | None:
    """Returns the verified account with this address, or None. An unverified account does not count, because a stranger
    may have opened it: a new account replaces it when the invitation is accepted.
    """
    user = UserStore(connection).find_by_email(email)
    return user if user is not None and user.verified else None


def _join(connection: Connection, invitation_id: str, user: User) -> AcceptedInvitation:
    """Uses up the invitation and adds the collaborator. Raises INVALID_LINK if the invitation was used or withdrawn
    meanwhile.
    """
    used = InvitationStore(connection).find(invitation_id)
    if used is None:
        raise ApiError(INVALID_LINK)
    brand = access.brand(connection, used.brand_id)
    owner = access.lock_account(connection, brand.account_id)
    if owner.id == user.id or InvitationStore(connection).use(invitation_id) is None:
        raise ApiError(INVALID_LINK)
    MailStore(connection).delete(_mail_id(invitation_id))
    CollaboratorStore(connection).set_role(brand.brand.id, user.id, used.role)
    _audit(connection, user.id, used, "collaborator.joined", subject_id=user.id)
    return AcceptedInvitation(
        brand_id=brand.brand.id,
        brand_name=brand.brand.name,
        user_id=user.id,
        email=user.email,
        role=used.role,
    )


def _mail_id(invitation_id: str) -> str:
    return f"{invitation_id}.invitation"


def _audit(
    connection: Connection,
    actor_id: str,
    invitation: Invitation,
    action: str,
    *,
    subject_id: str = "",
    operation_id: str | None = None,
) -> None:
    AuditStore(connection).add(
        brand_id=invitation.brand_id,
        actor_id=actor_id,
        action=action,
        subject_id=subject_id or invitation.id,
        details={"role": invitation.role, "email": invitation.email},
        operation_id=operation_id,
    )
