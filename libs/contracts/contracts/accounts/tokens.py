"""Messages about API tokens, and the authentication of requests with them."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from contracts.accounts.users import User
from contracts.caller import Caller
from contracts.record import Record


class Token(Record):
    """The name, scopes, limits and use of an API token, without its secret value."""

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
    #: Whether it is the token of a person who signed in with a password. Such a token ends 30 days after its last use.
    session: bool = False


class CreateToken(Record):
    """A request for a new API token.

    Without `issued_by`, the token acts for the account `user_id`. If `issued_by` names a collaborator, the token acts
    only on the single brand in `brand_ids`, for the account that owns the brand.

    The operator chooses both fields. For a person's request the accounts service sets them: `issued_by` only if
    `brand_ids` names a brand on which the person is a collaborator.
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
    """A new token: its data, and its value in plain text, which is shown only now."""

    token: Token
    api_token: str


class SandboxToken(Record):
    """The value of an account's sandbox token in plain text. The server does not store it, but can compute it again
    from the account's id and a secret."""

    sandbox_api_token: str


class TokenId(Record):
    token_id: str


class EditToken(TokenId, kw_only=True):
    """A request to change a token. Fields that are not set keep their value."""

    name: str | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET
    brand_ids: tuple[str, ...] | UnsetType = UNSET
    ip_allowlist: tuple[str, ...] | UnsetType = UNSET
    #: None: never.
    expires_at: datetime | UnsetType | None = UNSET


class RevokeToken(TokenId):
    """A request to revoke a token.

    The queued posts made with the token are held, and the subscriptions made with it are disabled. With `keep`, both
    stay as they are.
    """

    keep: bool = False


class ListTokens(Record):
    """A request for an account's tokens, newest first.

    The operator names the account, and gets all its tokens. A person gets one page of their own tokens.
    """

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
    """A request to find out whom a token belongs to. The token is given by its SHA-256 in hex."""

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
    """A report of the gateway: how often each token was used since the gateway's last report."""

    uses: tuple[TokenUse, ...]
