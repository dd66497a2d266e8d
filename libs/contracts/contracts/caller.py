"""The caller (the first argument of every call between processes), and the maker: the user and token that made a post
or a subscription.
"""

from contracts.errors import BRAND_NOT_AUTHORIZED, MISSING_SCOPE, NOT_FOUND, ApiError
from contracts.record import Record

#: Scope of calls by the operator's command line (`posthaste`). No token can have it.
OPERATOR_SCOPE = "operator"
#: Every scope of the API except those of managing the account.
EVERY_SCOPE = "*"
#: Every scope that begins with `manage:`.
EVERY_MANAGE_SCOPE = "manage:*"
#: Scopes that give access to others or take it away. `*` does not include them, so that a token for posting, once
#: leaked, cannot make itself permanent.
ACCOUNT_SCOPES = ("manage:account", "manage:tokens", "manage:brands")


class Caller(Record, omit_defaults=True):
    """The identity and access of one request, which the gateway derives from its token."""

    #: The brand owner's account (`usr_…`), whose resources, limits and credits are used.
    account_id: str
    #: The person who acts: the owner, or a collaborator (`usr_…`).
    user_id: str
    token_id: str = ""
    scopes: tuple[str, ...] = ()
    #: free, developer, pro or elite: the account's tier, also for a sandbox token.
    tier: str = "free"
    sandbox: bool = False
    #: False until the account's address is verified. Until then it has no credits and cannot buy any.
    verified: bool = True
    #: The brands that the token may access; None means every brand of the account.
    brand_ids: tuple[str, ...] | None = None
    request_id: str = ""
    #: Unique per idempotency key; None when the request has no protection against repetition.
    operation_id: str | None = None
    #: The number of this try of the operation. It rises each time that a request takes over an idempotency key.
    try_number: int = 1

    def reaches(self, brand_id: str) -> bool:
        """Whether the token may access this brand. Call it only for a brand of the caller's account: it does not check
        the owner."""
        return self.brand_ids is None or brand_id in self.brand_ids

    def check_reach(self, account_id: str, brand_id: str, *, field: str | None = None) -> None:
        """Checks that the caller may access a resource of this account and brand.

        Raises ApiError NOT_FOUND (404) if the account is not the caller's, and BRAND_NOT_AUTHORIZED (403) if the token
        may not access the brand. `field` is named in the NOT_FOUND error; None if the id was in the path.
        """
        if account_id != self.account_id:
            raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
        if not self.reaches(brand_id):
            raise ApiError(BRAND_NOT_AUTHORIZED)

    def has_scope(self, scope: str) -> bool:
        if scope in self.scopes:
            return True
        if EVERY_MANAGE_SCOPE in self.scopes and scope.startswith("manage:"):
            return True
        return EVERY_SCOPE in self.scopes and scope not in ACCOUNT_SCOPES and scope != EVERY_MANAGE_SCOPE

    @property
    def is_operator(self) -> bool:
        """Whether the caller is the operator's command line, the only caller with the scope `operator`. The scope `*`
        does not include that scope.
        """
        return OPERATOR_SCOPE in self.scopes

    def check_operator(self) -> None:
        """Raises ApiError MISSING_SCOPE for every caller except the operator's command line."""
        if not self.is_operator:
            raise ApiError(MISSING_SCOPE, required_scope=OPERATOR_SCOPE, your_scopes=list(self.scopes))


def operator(request_id: str = "") -> Caller:
    """Returns the caller record of the operator's command line."""
    return Caller(account_id="", user_id="operator", scopes=(OPERATOR_SCOPE,), request_id=request_id)


class Maker(Record):
    """The user and the token that made a post or a subscription: `usr_…` (or `operator`) and `tok_…` (None for the
    operator).
    """

    user_id: str
    token_id: str | None = None


def maker_columns(caller: Caller) -> dict[str, str | None]:
    """Returns the values of the columns that store the caller as the maker of a row."""
    return {"maker_user_id": caller.user_id, "maker_token_id": caller.token_id or None}
