"""Who is calling: the first argument of every call between processes."""

from contracts.errors import BRAND_NOT_AUTHORIZED, MISSING_SCOPE, NOT_FOUND, ApiError
from contracts.record import Record

#: Scope of the operator's own calls (`posthaste` on the command line); no token can hold it.
OPERATOR_SCOPE = "operator"


class Caller(Record, omit_defaults=True):
    """The identity and reach of one request, as established by the gateway from its token."""

    #: The account whose things, limits and credits are used (`usr_…`): the brand owner's.
    account_id: str
    #: The person who acts: the owner, or a collaborator (`usr_…`).
    user_id: str
    token_id: str = ""
    scopes: tuple[str, ...] = ()
    #: free, developer, pro or elite: the account's tier, also for a sandbox token.
    tier: str = "free"
    sandbox: bool = False
    #: False while nobody has verified the address of the account: it has no credits and is offered none.
    verified: bool = True
    #: The brands the token may reach; None means every brand of the account.
    brand_ids: tuple[str, ...] | None = None
    request_id: str = ""
    #: Unique per idempotency key; None when the request runs without protection.
    operation_id: str | None = None
    #: Which try of its operation this call is: goes up each time that an idempotency key is taken over.
    try_number: int = 1

    def reaches(self, brand_id: str) -> bool:
        """Whether a brand *of this account* lies within the token's reach."""
        return self.brand_ids is None or brand_id in self.brand_ids

    def check_reach(self, account_id: str, brand_id: str, *, field: str | None = None) -> None:
        """Refuse things of another account (404) and brands out of the token's reach (403).

        Raises ApiError NOT_FOUND (with `field` when the id came in a body or filter), BRAND_NOT_AUTHORIZED.
        """
        if account_id != self.account_id:
            raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
        if not self.reaches(brand_id):
            raise ApiError(BRAND_NOT_AUTHORIZED)

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes or "*" in self.scopes

    @property
    def is_operator(self) -> bool:
        """Only the literal scope: a token's `*` stands for the scopes a token can hold."""
        return OPERATOR_SCOPE in self.scopes

    def check_operator(self) -> None:
        """Refuses everybody but the operator's command line. Raises ApiError MISSING_SCOPE."""
        if not self.is_operator:
            raise ApiError(MISSING_SCOPE, required_scope=OPERATOR_SCOPE, your_scopes=list(self.scopes))


def operator(request_id: str = "") -> Caller:
    """The caller record of the operator's command line."""
    return Caller(account_id="", user_id="operator", scopes=(OPERATOR_SCOPE,), request_id=request_id)
