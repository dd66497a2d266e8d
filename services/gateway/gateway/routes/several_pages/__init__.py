"""Makes one post on each of several pages (docs/decisions.md, "page_ids"), with one answer.

Each page has its own operation and its own unit of the counter `publishes`. The first page uses those of the request
itself, whose unit was taken at admission. The service `publishing` checks each page's content.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from contracts.caller import Caller
from contracts.errors import ERRORS, MONTHLY_QUOTA_EXCEEDED, ApiError
from contracts.publishing import PageResult, PageResults, PagesOfPost, PlannedPage
from contracts.quota import ChargeUnit, ChargeUnits
from contracts.record import Nothing
from gateway.exchange import Exchange
from gateway.http.answers import Answer, success
from gateway.idempotency.keys import is_being_looked_up, leaves_outcome_open
from gateway.routes.several_pages import overrides

_BUCKET = "publishes"

Request = TypeVar("Request")


def send(
    exchange: Exchange,
    request: PagesOfPost,
    request_for: Callable[[tuple[PlannedPage, ...]], Request],
    method: Callable[[Caller, Request], PageResults],
) -> Answer:
    """Posts on all pages with one call of `method`, which belongs to the service `publishing`. `request_for` makes the
    call's request. Returns an answer with each page's result: 201 if all pages succeeded, 207 if only some did.

    Raises the call's own error, for example if the content for one page breaks a rule. If no page succeeded, raises the
    error that `_error_of_all` chooses.

    Also raises a page's error if it is an outage (see `_outage_in`) and the request has an idempotency key. So no 207
    is stored under the key, and a repeated request sends the missing posts.
    """
    pages = _charge(exchange, _planned(exchange, request))
    try:
        answer = exchange.ask(method, request_for(pages))
    except ApiError as problem:
        if exchange.made_nothing(problem):
            _give_back(exchange, [page for page in pages[1:] if page.goes])
        raise overrides.renamed(problem, request) from problem
    by_page = {result.page_id: result for result in answer.results}
    without_unit = [page for page in pages if page.page_id not in by_page]
    if without_unit:
        over_quota = _over_quota(exchange)
        by_page |= {page.page_id: _refused(page, over_quota) for page in without_unit}
    results = [by_page[page.page_id] for page in pages]
    errors = {result.page_id: error for result in results if (error := _error_of(result)) is not None}
    refused = [page_id for page_id in errors if exchange.made_nothing(errors[page_id])]
    _give_back(exchange, [page for page in pages if page.goes and page.page_id in refused])
    exchange.meter = ""  # the first page's unit is settled here, like the others'
    outage = _outage_in(errors.values()) if exchange.claim is not None else None
    if outage is not None:
        raise outage
    if len(errors) == len(pages):
        raise _error_of_all(list(errors.values()))
    with_ids = tuple(_with_request_id(exchange, result) for result in results)
    return success(207 if errors else 201, PageResults(results=with_ids), exchange.headers)


def _planned(exchange: Exchange, request: PagesOfPost) -> list[PlannedPage]:
    own = exchange.caller.operation_id
    return [
        PlannedPage(
            page_id=page.page_id,
            message=page.message,
            settings=page.settings,
            operation_id=f"{own}_{page.page_id}" if number else str(own),
        )
        for number, page in enumerate(overrides.pages_of(request))
    ]


def _charge(exchange: Exchange, pages: list[PlannedPage]) -> tuple[PlannedPage, ...]:
    """Takes a unit of the counter `publishes` for each page but the first, whose unit was taken at admission. A page
    without a unit is not sent (`goes` is false).

    A repeated request takes no units again. If the answer of the service `quota` is lost, that service later asks the
    service `publishing` about the operations, and refunds the units of those without effect.
    """
    caller = exchange.caller
    if caller.sandbox or len(pages) == 1:
        return tuple(pages)
    units = [
        ChargeUnit(
            account_id=caller.account_id,
            tier=caller.tier,
            bucket=_BUCKET,
            operation_id=page.operation_id,
            try_number=caller.try_number,
        )
        for page in pages[1:]
    ]
    charged = exchange.ask(exchange.services.quota.charge_units, ChargeUnits(units=tuple(units)))
    goes = (True, *charged.allowed)
    return tuple(
        msgspec.structs.replace(page, goes=bool(allowed)) for page, allowed in zip(pages, goes, strict=True)
    )


def _give_back(exchange: Exchange, pages: Sequence[PlannedPage]) -> None:
    callers = [msgspec.structs.replace(exchange.caller, operation_id=page.operation_id) for page in pages]
    exchange.services.refunds.give_back(callers, waits=exchange.has_time)


def _over_quota(exchange: Exchange) -> ApiError:
    """Returns the error for a page without a unit of the counter `publishes`. If the service `quota` does not answer
    now, the error has no limit and no reset time."""
    try:
        usage = exchange.ask(exchange.services.quota.get_usage, Nothing())
    except ApiError:
        return ApiError(MONTHLY_QUOTA_EXCEEDED)
    wait = usage.resets_at - exchange.services.clock.now()
    return ApiError(
        MONTHLY_QUOTA_EXCEEDED,
        bucket=_BUCKET,
        limit=usage.publishes.limit,
        resets_at=usage.resets_at,
        retry_after_seconds=max(1, int(wait.total_seconds())),
    )


def _refused(page: PlannedPage, error: ApiError) -> PageResult:
    body = {"error": error.message, "code": error.code, **error.extras}
    return PageResult(page_id=page.page_id, status=error.row.http_status, error=body)


def _with_request_id(exchange: Exchange, result: PageResult) -> PageResult:
    """Adds the field `request_id` to the error of one page, because the body of every error has it."""
    if result.error is None:
        return result
    return msgspec.structs.replace(result, error=result.error | {"request_id": exchange.request_id})


def _error_of(result: PageResult) -> ApiError | None:
    if result.error is None:
        return None
    extras = {name: value for name, value in result.error.items() if name not in ("error", "code")}
    return ApiError(ERRORS[result.error["code"]], result.error["error"], **extras)


def _outage_in(errors: Iterable[ApiError]) -> ApiError | None:
    """Returns the first error of an outage, such as a 503; None if there is none.

    After such an error the page's post may exist or not, and the service `publishing` is not finding that out.
    """
    for error in errors:
        if leaves_outcome_open(error, sends=True) and not is_being_looked_up(error, sends=True):
            return error
    return None


def _error_of_all(errors: list[ApiError]) -> ApiError:
    """Returns the error that answers a call in which no page succeeded.

    An error with an unknown outcome takes precedence over others. With such an answer the idempotency key is kept, so
    that a repeated request sends nothing twice.
    """
    return next((error for error in errors if leaves_outcome_open(error, sends=True)), errors[0])
