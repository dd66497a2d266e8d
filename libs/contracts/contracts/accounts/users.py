"""Messages about users: signing up, the profile, verification of the address, and the operator's commands."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from contracts.record import Record


class User(Record):
    id: str
    email: str
    firstname: str
    lastname: str
    tier: str
    created_at: datetime
    #: Whether the user has proved that the address is theirs. Until then the account gets no brands, tokens, roles or
    #: credits (decisions "Verified accounts").
    verified: bool = True
    #: The IANA zone and the BCP 47 language in which the person reads times; None: not chosen.
    timezone: str | None = None
    language: str | None = None


class SignUp(Record):
    """A person's request for a new account, on the free tier."""

    email: str
    password: str
    #: The client's network, for the limit on sign-ups.
    asker: str
    firstname: str = ""
    lastname: str = ""
    #: The code from `user invite`. It verifies the account at once.
    invite_code: str | None = None


class CreateUser(Record):
    """The request of the operator's command `user create`. A user without a password must first set one with a reset
    link to sign in."""

    email: str
    password: str | None = None
    firstname: str = ""
    lastname: str = ""
    tier: str = "free"


class CreatedUser(Record):
    """A new user, and its sandbox token in plain text, which `get_sandbox_token` shows again."""

    user: User
    sandbox_api_token: str
    #: The unverified account with the same address that this one replaced.
    voided_user_id: str | None = None


class ChangeTier(Record):
    user_id: str
    tier: str


class EditProfile(Record):
    """A request to change the caller's own profile. Fields that are not set keep their value."""

    firstname: str | UnsetType = UNSET
    lastname: str | UnsetType = UNSET
    timezone: str | UnsetType | None = UNSET
    language: str | UnsetType | None = UNSET


class GetUser(Record):
    user_id: str
    #: Refuse an unverified account with EMAIL_NOT_VERIFIED: it may not get brands, tokens, roles or credits.
    verified: bool = False


class UserId(Record):
    user_id: str


class ListUsers(Record):
    """The operator's request for all users, newest first, or for the one with this `email`."""

    email: str | None = None
    limit: int = 50
    cursor: str | None = None


class UserList(Record):
    users: tuple[User, ...]
    next_cursor: str | None = None


class InviteUser(Record):
    email: str


class Invite(Record):
    """An invite, valid for one sign-up with its address."""

    email: str
    code: str
    expires_at: datetime


class VerificationLink(Record):
    """The contents of the link in a verification mail. Its code is known only from the mail, or from a link that the
    operator hands over.
    """

    user_id: str
    code: str


class ConfirmVerification(VerificationLink, kw_only=True):
    """A request to confirm an address. The password of the sign-up proves that the reader of the mail is the person who
    signed up.
    """

    password: str


class MadeVerificationLink(Record):
    """The link of a verification mail, for the operator to hand over where no mail can be sent."""

    email: str
    verified: bool
    link: str


class Verification(Record):
    """An e-mail address, and whether it is verified."""

    email: str
    verified: bool
