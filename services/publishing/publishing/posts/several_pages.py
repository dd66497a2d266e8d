"""Handles calls that put one post on several pages (docs/decisions.md, "page_ids"). The pages are checked together,
then the post is sent to them in parallel.

The rules of a single post are in `schedule.py` and `publish_now.py`; the gateway has checked for which pages the
month's quota suffices.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import msgspec
import structlog
from msgspec import UNSET

from chassis.db.operations import Operations
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import SERVER_ERROR, SERVICE_UNAVAILABLE, ApiError
from contracts.platforms import PLATFORMS
from publishing import attachments
from publishing.context import AppContext
from publishing.platforms.limits import open_setting_errors
from publishing.posts import answers, checks, schedule
from publishing.posts import publish_now as at_once
from publishing.posts.answers import Answer
from publishing.records import Attached, PageRow, reached
from publishing.rules.content import Find
from publishing.sending.context import SendingContext
from publishing.store.operations import PostOperations
from publishing.store.pages import Pages
from publishing.store.posts import Posts

log = structlog.get_logger()

#: A request for several pages.
OnPages = api.PublishPosts | api.ValidatePosts

#: Schedules or publishes the post on one page.
PagesPart = Callable[[Caller, PageRow, Answer], api.PageResult]


def schedule_on_pages(app: SendingContext, caller: Caller, request: api.SchedulePosts) -> api.PageResults:
    """Queues a post on every page for which the month's quota suffices. If a rule is broken on any page, raises the
    first error and queues nothing."""
    scheduled_at = checks.instant(request.scheduled_at)
    pages = pages_of(app, caller, request)
    with app.database.reading() as connection:
        _, now = Pages(connection).get_with_time(request.pages[0].page_id)

    def check() -> None:
        checks.check_time(scheduled_at, now)
        _check(app, caller, request, pages, is_now=False)

    def one(who: Caller, page: PageRow, answer: Answer) -> api.PageResult:
        single = api.SchedulePost(
            page_id=page.id, scheduled_at=scheduled_at, **content_of(request, page, pages)
        )
        return api.PageResult(page_id=page.id, status=201, scheduled_post=schedule.schedule(app, who, single))

    return _run(app, caller, request, pages, check, one)


def publish_on_pages(app: SendingContext, caller: Caller, request: api.PublishPosts) -> api.PageResults:
    """Publishes a post now on every page for which the month's quota suffices. A page that is not finished in time has
    an unknown outcome, or the error SERVICE_UNAVAILABLE if its post was not begun."""
    pages = pages_of(app, caller, request)

    def one(who: Caller, page: PageRow, answer: Answer) -> api.PageResult:
        single = api.PublishPost(page_id=page.id, **content_of(request, page, pages))
        with app.live_call(who.account_id):
            done = at_once.publish(app, who, single, answer)
        return api.PageResult(page_id=page.id, status=201, post=done)

    return _run(app, caller, request, pages, partial(_check, app, caller, request, pages, is_now=True), one)


def pages_of(app: AppContext, caller: Caller, request: OnPages) -> dict[str, PageRow]:
    """Returns the rows of the requested pages by id, in the order of the request. Raises NOT_FOUND or
    BRAND_NOT_AUTHORIZED for a page that the caller may not use.
    """
    with app.database.reading() as connection:
        found = Pages(connection).many([page.page_id for page in request.pages])
    return {
        page.page_id: reached(caller, found.get(page.page_id), field="page_ids") for page in request.pages
    }


def _check(
    app: SendingContext, caller: Caller, request: api.PublishPosts, pages: dict[str, PageRow], *, is_now: bool
) -> None:
    """Checks the rules on all pages and raises the first error, with its page_id. `is_now`: the post is published at
    once.

    Two problems of a page raise nothing here and become the error in that page's result: the page has expired, or its
    platform token may not write the first comment.
    """
    find = found_once(partial(attachments.look, app, caller))
    for page in pages.values():
        try:
            if is_now:
                checks.check_connected(app, page)
            for error in override_errors(request, page):
                raise error
            checks.check_content(app, api.PostContent(**content_of(request, page, pages)), page, find)
        except ApiError as error:
            raise ApiError(error.row, error.message, **error.extras | {"page_id": page.id}) from error


def found_once(find: Find) -> Find:
    """Returns a function that calls `find` for the media files once, and returns the same files at every further call.
    So the media service is asked once for all pages.
    """
    known: list[Sequence[Attached]] = []

    def found(media_ids: Any) -> Any:
        if not known:
            known.append(find(media_ids))
        return known[0]

    return found


def content_of(request: OnPages, page: PageRow, pages: dict[str, PageRow]) -> dict[str, Any]:
    """Returns the content for one page, with its overrides and without other platforms' settings."""
    own = PLATFORMS[page.platform].settings_field
    others = {PLATFORMS[one.platform].settings_field for one in pages.values()} - {own}
    names = api.PostContent.__struct_fields__
    content = {name: getattr(request, name) for name in names if name not in others}
    named = next(one for one in request.pages if one.page_id == page.id)
    if named.message is not UNSET:
        content["message"] = named.message
    if named.settings is not UNSET:
        content[own] = named.settings
    return content


def override_errors(request: OnPages, page: PageRow) -> list[ApiError]:
    """Returns an error for each unknown setting in the request's overrides for this page. Leaves out the errors that
    the check of a single post finds as well.
    """
    named = next(one for one in request.pages if one.page_id == page.id)
    settings = None if named.settings is UNSET else named.settings
    return open_setting_errors(page.platform, settings or {})


def _run(
    app: SendingContext,
    caller: Caller,
    request: api.PublishPosts,
    pages: dict[str, PageRow],
    check: Callable[[], None],
    one: PagesPart,
) -> api.PageResults:
    """Runs `one`, which publishes or schedules the post on one page, for every page in parallel. Returns the results.

    Runs `check` first, which checks all pages together. If an earlier try has already made a post, does not run it;
    `one` checks its page anyway.
    """
    going = _going(app, caller, request.pages)
    with app.database.reading() as connection:
        is_repeat = Posts(connection).has_any_of([page.operation_id for page in going])
    if not is_repeat:
        _check_once(app, caller, going, check)
    parts = [_part(one, caller, page, pages[page.page_id]) for page in going]
    ended = answers.run(parts, partial(answers.leave, app.database))
    return api.PageResults(results=tuple(map(_result, going, ended)))


def _going(app: SendingContext, caller: Caller, pages: Sequence[api.PlannedPage]) -> list[api.PlannedPage]:
    """Returns the pages to run: those with a unit of the month's quota, and those on which an earlier try has made a
    post or is sending one.

    Voids the tries on all other pages: they can no longer make a post.
    """
    held = [(page.operation_id, caller.try_number) for page in pages if not page.goes]
    if not held:
        return list(pages)
    with app.database.transaction() as connection:
        nothing = PostOperations(connection).void(held).nothing
    return [page for page in pages if page.goes or page.operation_id not in nothing]


def _check_once(
    app: SendingContext, caller: Caller, going: Sequence[api.PlannedPage], check: Callable[[], None]
) -> None:
    """Runs `check` and raises its error. Before it raises an error other than SERVICE_UNAVAILABLE, it voids all tries
    of this request, so that they can no longer make a post. If one of these tries has made a post already, the error is
    not raised.
    """
    try:
        check()
    except ApiError as error:
        if error.row is SERVICE_UNAVAILABLE:
            raise
        with app.database.reading() as connection:
            made = Operations(connection).void([(page.operation_id, caller.try_number) for page in going])
        if not any(made.values()):
            raise


def _part(
    one: PagesPart, caller: Caller, page: api.PlannedPage, row: PageRow
) -> answers.Part[api.PageResult]:
    own = msgspec.structs.replace(caller, operation_id=page.operation_id)
    return answers.Part(own, partial(one, own, row))


def _result(page: api.PlannedPage, ended: Future[api.PageResult]) -> api.PageResult:
    """Returns the result that the part of a page has returned, or else a result with the error that it raised."""
    try:
        return ended.result()
    except ApiError as problem:
        error = problem
    except Exception:
        log.exception("page_failed_unforeseen", page_id=page.page_id)
        error = ApiError(SERVER_ERROR)
    body = {"error": error.message, "code": error.code, **error.extras}
    return api.PageResult(page_id=page.page_id, status=error.row.http_status, error=body)
