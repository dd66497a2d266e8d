"""Messages about inviting people to a brand by e-mail."""

from datetime import datetime

from contracts.record import Record


class InvitePerson(Record):
    """A request to invite the owner of an e-mail address to work on a brand of the caller's account."""

    brand_id: str
    email: str
    #: `full` or `limited`
    role: str


class Invitation(Record):
    """An unanswered invitation to work on a brand. The person who accepts it becomes a collaborator with its `role`."""

    id: str
    brand_id: str
    email: str
    role: str
    created_at: datetime
    expires_at: datetime


class ListInvitations(Record):
    brand_id: str
    limit: int = 100
    cursor: str | None = None


class InvitationList(Record):
    invitations: tuple[Invitation, ...]
    next_cursor: str | None = None


class WithdrawInvitation(Record):
    brand_id: str
    id: str


class InvitationWithdrawn(Record):
    success: bool
    id: str


class InvitationLink(Record):
    """The contents of the link in an invitation's mail. Its code is known only from the mail, or from a link that the
    operator hands over.
    """

    invitation_id: str
    code: str


class OpenedInvitation(Record):
    """The details of an invitation, which a person sees before accepting it."""

    brand_name: str
    #: The e-mail address of the brand's owner.
    invited_by: str
    email: str
    role: str
    #: Whether the address has an account: its password is asked for, otherwise a new one is chosen.
    has_account: bool
    #: Whether the account asks for a code of an authenticator app too.
    has_totp: bool = False


class AcceptInvitation(InvitationLink, kw_only=True):
    """A request to accept an invitation, with the password of the account that has the invited address.

    If no account has that address, a new account is opened with this password.
    """

    password: str
    firstname: str = ""
    lastname: str = ""
    #: A code of the authenticator app or a recovery code, if the account asks for one.
    totp_code: str | None = None
    #: The client's network, for the limits on failed attempts.
    asker: str


class AcceptedInvitation(Record):
    """The answer to an accepted invitation. `user_id` is the account that has the invited address."""

    brand_id: str
    brand_name: str
    user_id: str
    email: str
    role: str


class MakeInvitationLink(Record):
    """The request of the operator's command `collaborator invitation-link`, for the link of an invitation that waits
    for an answer.
    """

    brand_id: str
    email: str


class MadeInvitationLink(Record):
    link: str
    expires_at: datetime
