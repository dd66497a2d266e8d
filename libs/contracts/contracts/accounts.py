"""The accounts service's surface: users, brands, collaborators, API tokens, audit log. Signing in: sign_in.py.

Invitations to a brand: invitations.py.
"""

from datetime import datetime
from typing import Any, Protocol

from msgspec import UNSET, UnsetType

from contracts import invitations, sign_in
from contracts.caller import Caller
from contracts.record import Nothing, Record
from contracts.senders import called_by


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


class SignUp(Record):
    """A new account on the free tier, created by its owner."""

    email: str
    password: str
    firstname: str = ""
    lastname: str = ""
    #: The code from `user invite`. It verifies the account at once.
    invite_code: str | None = None
    #: The client's network, for the limit on sign-ups. None comes from gateways of the previous release: not counted.
    asker: str | None = None


class CreateUser(Record):
    """The request of the operator's `user create`. Without a password the user cannot sign in."""

    email: str
    password: str | None = None
    firstname: str = ""
    lastname: str = ""
    tier: str = "free"


class CreatedUser(Record):
    """The user and the sandbox token in plain text, which is shown only now."""

    user: User
    sandbox_api_token: str
    #: The unverified account with the same address that this one replaced.
    voided_user_id: str | None = None


class ChangeTier(Record):
    user_id: str
    tier: str


class EditProfile(Record):
    """Changes the caller's own profile. Fields that are not set keep their value."""

    firstname: str | UnsetType = UNSET
    lastname: str | UnsetType = UNSET


class GetUser(Record):
    user_id: str
    #: Refuse an unverified account with EMAIL_NOT_VERIFIED: it may not get brands, tokens, roles or credits.
    verified: bool = False


class UserId(Record):
    user_id: str


class ListUsers(Record):
    """Lists all users for the operator, newest first; with `email` the one with this address."""

    email: str | None = None
    limit: int = 50
    cursor: str | None = None


class UserList(Record):
    users: tuple[User, ...]
    next_cursor: str | None = None


class InviteUser(Record):
    email: str


class Invite(Record):
    """An invite, valid for one sign-up with this address."""

    email: str
    code: str
    expires_at: datetime


class VerificationLink(Record):
    """The contents of the link in a verification mail. The code proves access to the mailbox."""

    user_id: str
    code: str


class ConfirmVerification(VerificationLink, kw_only=True):
    """Confirms an address. The password of the sign-up proves that the mailbox belongs to the person who signed up."""

    password: str


class MadeVerificationLink(Record):
    """The link of a verification mail, for the operator to hand over."""

    email: str
    verified: bool
    link: str


class Verification(Record):
    """The state of an address's verification."""

    email: str
    verified: bool


class Token(Record):
    """Metadata of an API token; never the token itself."""

    id: str
    name: str
    #: The token's first 12 characters.
    prefix: str
    scopes: tuple[str, ...]
    brand_ids: tuple[str, ...] = ()
    ip_allowlist: tuple[str, ...] = ()
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    request_count: int = 0
    revoked_at: datetime | None = None
    created_at: datetime | None = None
    sandbox: bool = False
    on_behalf_of_brand_id: str | None = None
    issued_by_collaborator_id: str | None = None
    #: The token of a person who signed in with a password; it lives on while it is used.
    session: bool = False


class CreateToken(Record):
    """A new API token for `user_id`; `issued_by` names the collaborator who issues it (bound to one brand).

    Only the operator names both: a person's token is for their own account, or, with one brand of another account, for
    that brand as its collaborator.
    """

    user_id: str
    scopes: tuple[str, ...]
    name: str = ""
    brand_ids: tuple[str, ...] = ()
    expires_at: datetime | None = None
    ip_allowlist: tuple[str, ...] = ()
    legacy: bool = False
    issued_by: str | None = None


class CreatedToken(Record):
    """The metadata and the token in plain text, which is shown only now."""

    token: Token
    api_token: str


class TokenId(Record):
    token_id: str


class EditToken(TokenId, kw_only=True):
    """Fields that are not set keep their value."""

    name: str | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET
    brand_ids: tuple[str, ...] | UnsetType = UNSET
    ip_allowlist: tuple[str, ...] | UnsetType = UNSET
    #: None: never.
    expires_at: datetime | UnsetType | None = UNSET


class RevokeToken(TokenId):
    """`keep`: the token's subscriptions stay active, and its posts stay queued."""

    keep: bool = False


class ListTokens(Record):
    """The operator names the account, and gets all of its tokens; everybody else gets a page of their own."""

    user_id: str = ""
    limit: int = 50
    cursor: str | None = None


class TokenList(Record):
    tokens: tuple[Token, ...]
    next_cursor: str | None = None


class SetTokenUse(Record):
    token_id: str
    count: int


class Authenticate(Record):
    """Identifies a presented token by its SHA-256 (hex)."""

    token_sha256: str


class Authenticated(Record):
    """The data of a token that the gateway caches for a few seconds. `caller` has no request or operation id yet.

    The gateway checks `token.expires_at` at every request.
    """

    caller: Caller
    user: User
    token: Token


class TokenUse(Record):
    token_id: str
    count: int
    last_used_at: datetime


class RecordUse(Record):
    """The token uses since the gateway's last batch."""

    uses: tuple[TokenUse, ...]


class Brand(Record):
    id: str
    name: str
    description: str | None
    logo: str | None
    timezone: str
    created_at: datetime
    image_guidelines: str | None = None
    caption_guidelines: str | None = None
    #: An archived brand is not listed by default and gets no new pages.
    archived_at: datetime | None = None


class CreateBrand(Record):
    """The operator names the account; everybody else creates brands of their own."""

    user_id: str
    name: str
    timezone: str = "UTC"
    description: str | None = None
    logo: str | None = None
    image_guidelines: str | None = None
    caption_guidelines: str | None = None


class EditBrand(Record):
    """Changes a brand of the caller's account. Fields that are not set keep their value."""

    brand_id: str
    name: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    logo: str | UnsetType | None = UNSET
    image_guidelines: str | UnsetType | None = UNSET
    caption_guidelines: str | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET


class ListBrands(Record):
    """Lists the brands that the caller may access, newest first. The operator names the account."""

    user_id: str | None = None
    #: Lists archived brands too.
    archived: bool = False
    limit: int = 50
    cursor: str | None = None


class BrandList(Record):
    brands: tuple[Brand, ...]
    next_cursor: str | None = None


class GetBrand(Record):
    """`field` is named in the NOT_FOUND error when the id came in a body or filter."""

    brand_id: str
    field: str | None = None


class BrandOwner(Record):
    """A brand and the account that owns it (operator)."""

    brand: Brand
    account_id: str


class SetCollaborator(Record):
    """The operator adds a collaborator or changes a role; the owner of the brand only changes the role."""

    brand_id: str
    user_id: str
    #: full or limited
    role: str


class Collaborator(Record):
    brand_id: str
    user_id: str
    role: str
    created_at: datetime


class ListedCollaborator(Collaborator, kw_only=True):
    email: str
    firstname: str
    lastname: str


class ListCollaborators(Record):
    """Lists who works on a brand of the caller's account, newest first."""

    brand_id: str
    limit: int = 50
    cursor: str | None = None


class CollaboratorList(Record):
    collaborators: tuple[ListedCollaborator, ...]
    next_cursor: str | None = None


class RemoveCollaborator(Record):
    """`keep`: the collaborator's subscriptions stay active, and the posts stay queued."""

    brand_id: str
    user_id: str
    keep: bool = False


class AuditEntry(Record):
    id: str
    brand_id: str
    #: A user id, `operator`, or `system` for consequences of a removal.
    actor_id: str
    action: str
    subject_id: str
    created_at: datetime
    details: dict[str, Any] = {}


class ListAudit(Record):
    """The operator names a brand, and gets its newest entries; everybody else may name one of their own."""

    brand_id: str | None = None
    limit: int = 50
    cursor: str | None = None


class AuditLog(Record):
    entries: tuple[AuditEntry, ...]
    next_cursor: str | None = None


class RecordAudit(Record):
    """Records an operator's action on a brand that another service carries out (`post due`)."""

    brand_id: str
    action: str
    subject_id: str
    details: dict[str, object] = {}


@called_by(
    gateway=(
        "sign_up view_verification confirm_verification refuse_verification get_user authenticate"
        " record_use list_brands get_brand log_in log_out list_sessions end_session request_reset view_reset"
        " reset_password change_password edit_profile issue_token edit_token revoke_token replace_token get_token"
        " list_tokens list_audit create_brand edit_brand list_collaborators set_collaborator remove_collaborator"
        " invite_person list_invitations withdraw_invitation view_invitation accept_invitation"
        " get_totp begin_totp confirm_totp disable_totp"
    ),
    ctl=(
        "create_user verify_user list_users list_unverified invite_user make_reset_link get_user change_tier"
        " make_verification_link make_invitation_link turn_off_totp create_token"
        " revoke_token rotate_token get_token list_tokens set_token_use create_brand list_brands"
        " get_brand_owner set_collaborator remove_collaborator list_audit record_audit"
    ),
)
class AccountsApi(Protocol):
    """RPC surface of the accounts service."""

    def sign_up(self, caller: Caller, request: SignUp) -> CreatedUser: ...
    def view_verification(self, caller: Caller, request: VerificationLink) -> Verification: ...
    def confirm_verification(self, caller: Caller, request: ConfirmVerification) -> Verification: ...
    def refuse_verification(self, caller: Caller, request: VerificationLink) -> Verification: ...
    def make_verification_link(self, caller: Caller, request: UserId) -> MadeVerificationLink: ...
    def create_user(self, caller: Caller, request: CreateUser) -> CreatedUser: ...
    def verify_user(self, caller: Caller, request: UserId) -> User: ...
    def list_users(self, caller: Caller, request: ListUsers) -> UserList: ...
    def list_unverified(self, caller: Caller, request: Nothing) -> UserList: ...
    def invite_user(self, caller: Caller, request: InviteUser) -> Invite: ...
    def log_in(self, caller: Caller, request: sign_in.LogIn) -> sign_in.LoggedIn: ...
    def log_out(self, caller: Caller, request: Nothing) -> sign_in.SessionEnded: ...
    def list_sessions(self, caller: Caller, request: Nothing) -> sign_in.SessionList: ...
    def end_session(self, caller: Caller, request: sign_in.SessionId) -> sign_in.SessionEnded: ...
    def request_reset(self, caller: Caller, request: sign_in.RequestReset) -> Nothing: ...
    def make_reset_link(self, caller: Caller, request: sign_in.MakeResetLink) -> sign_in.MadeResetLink: ...
    def view_reset(self, caller: Caller, request: sign_in.ResetLink) -> sign_in.PasswordReset: ...
    def reset_password(self, caller: Caller, request: sign_in.ResetPassword) -> sign_in.PasswordReset: ...
    def change_password(self, caller: Caller, request: sign_in.ChangePassword) -> sign_in.PasswordChanged: ...
    def get_totp(self, caller: Caller, request: Nothing) -> sign_in.Totp: ...
    def begin_totp(self, caller: Caller, request: sign_in.BeginTotp) -> sign_in.BegunTotp: ...
    def confirm_totp(self, caller: Caller, request: sign_in.ConfirmTotp) -> sign_in.TotpEnabled: ...
    def disable_totp(self, caller: Caller, request: sign_in.DisableTotp) -> sign_in.TotpDisabled: ...
    def turn_off_totp(self, caller: Caller, request: UserId) -> sign_in.Totp: ...
    def get_user(self, caller: Caller, request: GetUser) -> User: ...
    def edit_profile(self, caller: Caller, request: EditProfile) -> User: ...
    def change_tier(self, caller: Caller, request: ChangeTier) -> User: ...
    def authenticate(self, caller: Caller, request: Authenticate) -> Authenticated: ...
    def record_use(self, caller: Caller, request: RecordUse) -> Nothing: ...
    def create_token(self, caller: Caller, request: CreateToken) -> CreatedToken: ...
    def issue_token(self, caller: Caller, request: CreateToken) -> CreatedToken: ...
    def replace_token(self, caller: Caller, request: TokenId) -> CreatedToken: ...
    def edit_token(self, caller: Caller, request: EditToken) -> Token: ...
    def revoke_token(self, caller: Caller, request: RevokeToken) -> Token: ...
    def rotate_token(self, caller: Caller, request: TokenId) -> CreatedToken: ...
    def get_token(self, caller: Caller, request: TokenId) -> Token: ...
    def list_tokens(self, caller: Caller, request: ListTokens) -> TokenList: ...
    def set_token_use(self, caller: Caller, request: SetTokenUse) -> Token: ...
    def create_brand(self, caller: Caller, request: CreateBrand) -> Brand: ...
    def edit_brand(self, caller: Caller, request: EditBrand) -> Brand: ...
    def list_brands(self, caller: Caller, request: ListBrands) -> BrandList: ...
    def get_brand(self, caller: Caller, request: GetBrand) -> Brand: ...
    def get_brand_owner(self, caller: Caller, request: GetBrand) -> BrandOwner: ...
    def list_collaborators(self, caller: Caller, request: ListCollaborators) -> CollaboratorList: ...
    def set_collaborator(self, caller: Caller, request: SetCollaborator) -> Collaborator: ...
    def remove_collaborator(self, caller: Caller, request: RemoveCollaborator) -> Nothing: ...
    def invite_person(self, caller: Caller, request: invitations.InvitePerson) -> invitations.Invitation: ...
    def list_invitations(
        self, caller: Caller, request: invitations.ListInvitations
    ) -> invitations.InvitationList: ...
    def withdraw_invitation(
        self, caller: Caller, request: invitations.WithdrawInvitation
    ) -> invitations.InvitationWithdrawn: ...
    def view_invitation(
        self, caller: Caller, request: invitations.InvitationLink
    ) -> invitations.OpenedInvitation: ...
    def accept_invitation(
        self, caller: Caller, request: invitations.AcceptInvitation
    ) -> invitations.AcceptedInvitation: ...
    def make_invitation_link(
        self, caller: Caller, request: invitations.MakeInvitationLink
    ) -> invitations.MadeInvitationLink: ...
    def list_audit(self, caller: Caller, request: ListAudit) -> AuditLog: ...
    def record_audit(self, caller: Caller, request: RecordAudit) -> AuditEntry: ...
