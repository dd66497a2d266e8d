"""Dry runs: everything that schedule or publish would refuse."""

from functools import partial
from typing import Any

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import (
    ApiError,
)
from publishing import attachments
from publishing.context import House
from publishing.posts import guardrail_checks
from publishing.posts.checks import check_connected, check_time, instant
from publishing.records import PageRow
from publishing.rules import content, reach
from publishing.store.pages import Pages
from publishing.store.posts import Posts

#: The field a finding is about where the error does not say.
_FIELDS = {"SCHEDULE_OUT_OF_RANGE": "scheduled_at", "PAGE_EXPIRED": "page_id"}


def validate(house: House, caller: Caller, request: api.ValidatePost) -> api.Validation:
    """All that schedule (or publish, without a time) would refuse; nothing is stored or counted."""
    with house.database.reading() as connection:
        page, now = Pages(connection).get_with_time(request.page_id)
    page = reach.page(caller, page)
    errors: list[ApiError] = []
    if page.expired:
        errors.append(house.expired(page.id))
    at = None if request.scheduled_at is None else _collect(errors, instant, request.scheduled_at)
    if at is not None:
        _collect(errors, check_time, at, now)
    warnings = [] if request.scheduled_at is None else _connected(house, page)
    errors += _connected(house, page) if request.scheduled_at is None else []
    settings, look = house.settings, partial(attachments.look, house, caller)
    errors += content.findings(request, page.platform, settings.outbound_host_map, settings.own_media, look)
    with house.database.reading() as connection:
        is_answerable = at is not None or request.scheduled_at is None
        breach = guardrail_checks.breach_of_dry_run(Posts(connection), page, at) if is_answerable else None
    if breach is not None:
        errors.append(guardrail_checks.refusal(breach, at or now))
    return api.Validation(
        valid=not errors, errors=tuple(map(_finding, errors)), warnings=tuple(map(_finding, warnings))
    )


def _connected(house: House, page: PageRow) -> list[ApiError]:
    errors: list[ApiError] = []
    _collect(errors, check_connected, house, page)
    return errors


def _collect(errors: list[ApiError], check: Any, *args: Any) -> Any:
    try:
        return check(*args)
    except ApiError as error:
        errors.append(error)
        return None


def _finding(error: ApiError) -> api.Finding:
    rows = error.extras.get("errors") or [{}]
    field = rows[0].get("field") or error.extras.get("field") or _FIELDS.get(error.code)
    return api.Finding(code=error.code, message=error.message, field=field)
