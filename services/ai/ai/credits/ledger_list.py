"""Lists the entries of an account's ledger, as its owner sees them."""

from ai.context import AppContext
from ai.rules.prices import CAPTION
from ai.store.ledger_pages import LedgerRow, page
from chassis.cursor import decode_cursor, encode_cursor
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import BRAND_NOT_AUTHORIZED, ApiError, invalid

_LARGEST_ID = 2**63 - 1


def show_list(context: AppContext, caller: Caller, request: api.ListLedger) -> api.CreditLedger:
    """Returns one page of the list of ledger entries, newest first.

    The ledger names purchases and the jobs of every brand. Therefore raises BRAND_NOT_AUTHORIZED for a token that is
    limited to brands (docs/decisions.md, "Who sees and pays what").
    """
    if caller.brand_ids is not None:
        raise ApiError(BRAND_NOT_AUTHORIZED)
    before = _before(request.cursor)
    with context.database.reading() as connection:
        found = page(connection, caller.account_id, before=before, limit=request.limit + 1)
    shown = found[: request.limit]
    cursor = encode_cursor(str(shown[-1].id)) if len(found) > len(shown) else None
    return api.CreditLedger(entries=tuple(map(_view, shown)), next_cursor=cursor)


def _before(cursor: str | None) -> int:
    if cursor is None:
        return _LARGEST_ID
    [last_id] = decode_cursor(cursor, 1)
    if not (last_id.isascii() and last_id.isdigit() and len(last_id) < 19):
        raise invalid("cursor", "is not a cursor of this list")
    return int(last_id)


def _view(row: LedgerRow) -> api.LedgerEntry:
    return api.LedgerEntry.made_from(row, job_id=None if row.action == CAPTION else row.job_id)
