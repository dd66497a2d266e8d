"""The maker of a post or a subscription: a person and the token that they used."""

from contracts.caller import Caller
from contracts.record import Record


class Maker(Record):
    """Ids of the user (`usr_…`, or `operator`) and the token (`tok_…`; None for the operator)."""

    user_id: str
    token_id: str | None = None


def maker_columns(caller: Caller) -> dict[str, str | None]:
    """Returns the columns that name the maker of a row: the caller who made, changed or released it last."""
    return {"maker_user_id": caller.user_id, "maker_token_id": caller.token_id or None}
