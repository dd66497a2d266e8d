"""Stores until when a person has read the comments of a brand. The list of published posts shows it."""

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import BRAND_NOT_AUTHORIZED, INVALID_DATE, ApiError
from publishing.context import AppContext
from publishing.store.comments import ReadMarks


def mark(app: AppContext, caller: Caller, request: api.MarkCommentsRead) -> api.CommentsReadList:
    """Stores that the caller has read the comments of one brand, or of all brands that the token may use, up to
    `read_until`. A mark never goes back. For a token without a limit on brands, stores marks only for brands with
    linked pages.

    The gateway has checked that `brand_id` exists. Raises BRAND_NOT_AUTHORIZED for a brand that the token may not use,
    and INVALID_DATE for a time without a zone.
    """
    if request.read_until.tzinfo is None:
        raise ApiError(INVALID_DATE, field="read_until")
    if request.brand_id is not None and not caller.reaches(request.brand_id):
        raise ApiError(BRAND_NOT_AUTHORIZED)
    chosen = caller.brand_ids if request.brand_id is None else (request.brand_id,)
    with app.database.transaction() as connection:
        marks = ReadMarks(connection)
        brand_ids = marks.brands_of(caller.account_id) if chosen is None else chosen
        read = marks.move(caller.user_id, brand_ids, request.read_until)
    return api.CommentsReadList(
        brands=tuple(
            api.CommentsRead(brand_id=brand_id, read_until=at) for brand_id, at in sorted(read.items())
        )
    )
