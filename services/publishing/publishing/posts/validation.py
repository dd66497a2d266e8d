"""Validates posts without storing or counting anything (dry run)."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ApiError
from publishing import attachments
from publishing.context import AppContext
from publishing.platforms.limits import changes
from publishing.posts import several_pages
from publishing.posts.checks import (
    check_connected,
    check_first_comment,
    check_guardrails,
    check_time,
    content_findings,
    instant,
)
from publishing.records import Attached, PageRow, reached
from publishing.rules.content import Find
from publishing.store.pages import Pages
from publishing.store.posts import Posts

#: The field of a finding whose error names none.
_FIELDS = {"SCHEDULE_OUT_OF_RANGE": "scheduled_at", "PAGE_EXPIRED": "page_id"}


def validate(app: AppContext, caller: Caller, request: api.ValidatePost) -> api.Validation:
    """Returns all errors for which the real call would be refused: scheduling the post or, if it has no time,
    publishing it.
    """
    with app.database.reading() as connection:
        page, now = Pages(connection).get_with_time(request.page_id)
    page = reached(caller, page)
    return api.Validation(**_findings(app, request, page, now, partial(attachments.look, app, caller)))


def validate_on_pages(app: AppContext, caller: Caller, request: api.ValidatePosts) -> api.PageValidations:
    """Validates the post on each page by itself: the posts of one call do not count for each other's guardrails.

    Raises NOT_FOUND or BRAND_NOT_AUTHORIZED for a page that the caller may not use.
    """
    pages = several_pages.pages_of(app, caller, request)
    with app.database.reading() as connection:
        _, now = Pages(connection).get_with_time(request.pages[0].page_id)
    look = several_pages.found_once(partial(attachments.look, app, caller))
    results = []
    for page in pages.values():
        content = several_pages.content_of(request, page, pages)
        single = api.ValidatePost(page_id=page.id, scheduled_at=request.scheduled_at, **content)
        own_errors = several_pages.override_errors(request, page)
        findings = _findings(app, single, page, now, look, own_errors)
        results.append(api.PageValidation(page_id=page.id, **findings))
    return api.PageValidations(valid=all(result.valid for result in results), results=tuple(results))


def _findings(
    app: AppContext,
    request: api.ValidatePost,
    page: PageRow,
    now: datetime,
    look: Find,
    own_errors: Sequence[ApiError] = (),
) -> dict[str, Any]:
    """Returns the fields of a page's validation. `look` reads the files from the media service; `own_errors` are those
    of the page's overrides."""
    errors = [*own_errors]
    if page.expired:
        errors.append(app.expired(page.id))
    at = None if request.scheduled_at is None else _collect(errors, instant, request.scheduled_at)
    if at is not None:
        _collect(errors, check_time, at, now)
    warnings = [] if request.scheduled_at is None else _connected(app, page)
    errors += _connected(app, page) if request.scheduled_at is None else []
    _collect(errors, check_first_comment, app, request, page)
    files: list[Attached] = []

    def find(media_ids: Sequence[str]) -> Sequence[Attached]:
        files.extend(look(media_ids))
        return files

    errors += content_findings(app, request, page, find)
    named = [(f"media_ids[{number}]", file.source) for number, file in enumerate(files)]
    if at is not None or request.scheduled_at is None:
        with app.database.reading() as connection:
            store = Posts(connection)
            around = store.lock_around(page.id, page.account_id, at, is_dry_run=True)
            _collect(errors, check_guardrails, store, page, at, around)
    return {
        "valid": not errors,
        "errors": tuple(map(_finding, errors)),
        "warnings": tuple(map(_finding, warnings)),
        "media_changes": tuple(changes(page.platform, named)),
    }


def _connected(app: AppContext, page: PageRow) -> list[ApiError]:
    errors: list[ApiError] = []
    _collect(errors, check_connected, app, page)
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
