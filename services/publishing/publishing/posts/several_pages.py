"""One post on each of several pages in one call (decisions "page_ids"): judged together, sent beside one another.

The rules of a single post are `posts.py`'s and `publish.py`'s; which pages have quota left, the gateway has asked.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import msgspec
import structlog

from chassis.db.operations import Operations
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import SERVER_ERROR, SERVICE_UNAVAILABLE, ApiError
from contracts.platforms import PLATFORMS
from publishing import attachments
from publishing.context import House
from publishing.posts import answers, checks, schedule
from publishing.posts import publish_now as at_once
from publishing.posts.answers import Answer
from publishing.records import Attached, PageRow
from publishing.rules import reach
from publishing.rules.content import Find
from publishing.store.operations import PostOperations
from publishing.store.pages import Pages
from publishing.store.posts import Posts

log = structlog.get_logger()

#: Does one page's part.
PagesPart = Callable[[Caller, PageRow, Answer], api.PageResult]


def schedule_on_pages(house: House, caller: Caller, request: api.SchedulePosts) -> api.PageResults:
    """Queues a post on every page that goes. Raises what breaks a rule on any of them, before any is queued."""
    scheduled_at = checks.instant(request.scheduled_at)
    pages = _pages(house, caller, request)
    with house.database.reading() as connection:
        _, now = Pages(connection).get_with_time(request.pages[0].page_id)

    def check() -> None:
        checks.check_time(scheduled_at, now)
        _check(house, caller, request, pages, is_now=False)

    def one(who: Caller, page: PageRow, answer: Answer) -> api.PageResult:
        single = api.SchedulePost(
            page_id=page.id, scheduled_at=scheduled_at, **_content(request, page, pages)
        )
        return api.PageResult(
            page_id=page.id, status=201, scheduled_post=schedule.schedule(house, who, single)
        )

    return _run(house, caller, request, pages, check, one)


def publish_on_pages(house: House, caller: Caller, request: api.PublishPosts) -> api.PageResults:
    """The same for posts that go out now; a page whose platform takes longer than the answer may is left unknown."""
    pages = _pages(house, caller, request)

    def one(who: Caller, page: PageRow, answer: Answer) -> api.PageResult:
        single = api.PublishPost(page_id=page.id, **_content(request, page, pages))
        with house.live_call(who.account_id):
            done = at_once.publish(house, who, single, answer)
        return api.PageResult(page_id=page.id, status=201, post=done)

    return _run(
        house, caller, request, pages, partial(_check, house, caller, request, pages, is_now=True), one
    )


def _pages(house: House, caller: Caller, request: api.PublishPosts) -> dict[str, PageRow]:
    """In their order. Raises NOT_FOUND, BRAND_NOT_AUTHORIZED."""
    with house.database.reading() as connection:
        found = Pages(connection).many([page.page_id for page in request.pages])
    return {
        page.page_id: reach.page(caller, found.get(page.page_id), field="page_ids") for page in request.pages
    }


def _check(
    house: House, caller: Caller, request: api.PublishPosts, pages: dict[str, PageRow], *, is_now: bool
) -> None:
    """Raises the first rule that is broken on any page, with its page_id. What is the platform's to refuse, an expired
    connection among it, is each page's own."""
    find = _found_once(partial(attachments.look, house, caller))
    for page in pages.values():
        try:
            if is_now:
                checks.check_connected(house, page)
            checks.check_content(
                house, api.PostContent(**_content(request, page, pages)), page.platform, find
            )
        except ApiError as error:
            raise ApiError(error.row, error.message, **error.extras | {"page_id": page.id}) from error


def _found_once(find: Find) -> Find:
    """media is asked for the same files once, however many pages show them."""
    known: list[Sequence[Attached]] = []

    def found(media_ids: Any) -> Any:
        if not known:
            known.append(find(media_ids))
        return known[0]

    return found


def _content(request: api.PublishPosts, page: PageRow, pages: dict[str, PageRow]) -> dict[str, Any]:
    """What is said on one page: without the settings that are there for the others."""
    own = PLATFORMS[page.platform].settings_field
    others = {PLATFORMS[one.platform].settings_field for one in pages.values()} - {own}
    names = api.PostContent.__struct_fields__
    return {name: getattr(request, name) for name in names if name not in others}


def _run(
    house: House,
    caller: Caller,
    request: api.PublishPosts,
    pages: dict[str, PageRow],
    check: Callable[[], None],
    one: PagesPart,
) -> api.PageResults:
    """Every page's part. A repeat of a call that has made something is judged page by page, as single posts are."""
    going = _going(house, caller, request.pages)
    with house.database.reading() as connection:
        is_repeat = Posts(connection).has_any_of([page.operation_id for page in going])
    if not is_repeat:
        _check_once(house, caller, going, check)
    parts = [_part(one, caller, page, pages[page.page_id]) for page in going]
    ended = answers.run(parts, partial(answers.leave, house.database))
    return api.PageResults(results=tuple(map(_result, going, ended)))


def _going(house: House, caller: Caller, pages: Sequence[api.PlannedPage]) -> list[api.PlannedPage]:
    """The pages with a month unit, and those on which another try has made a post; on the rest no earlier try will."""
    held = [(page.operation_id, caller.try_number) for page in pages if not page.goes]
    if not held:
        return list(pages)
    with house.database.transaction() as connection:
        nothing = PostOperations(connection).void(held).nothing
    return [page for page in pages if page.goes or page.operation_id not in nothing]


def _check_once(
    house: House, caller: Caller, going: Sequence[api.PlannedPage], check: Callable[[], None]
) -> None:
    """Raises what `check` does, unless another try has made a post meanwhile; if not, no earlier one will."""
    try:
        check()
    except ApiError as error:
        if error.row is SERVICE_UNAVAILABLE:
            raise
        with house.database.reading() as connection:
            made = Operations(connection).void([(page.operation_id, caller.try_number) for page in going])
        if not any(made.values()):
            raise


def _part(
    one: PagesPart, caller: Caller, page: api.PlannedPage, row: PageRow
) -> answers.Part[api.PageResult]:
    own = msgspec.structs.replace(caller, operation_id=page.operation_id)
    return answers.Part(own, partial(one, own, row))


def _result(page: api.PlannedPage, ended: Future[api.PageResult]) -> api.PageResult:
    """What became of a page's part, or the error of one whose post was refused, or is not known of yet."""
    try:
        return ended.result()
    except ApiError as problem:
        error = problem
    except Exception:
        log.exception("page_failed_unforeseen", page_id=page.page_id)
        error = ApiError(SERVER_ERROR)
    body = {"error": error.message, "code": error.code, **error.extras}
    return api.PageResult(page_id=page.page_id, status=error.row.http_status, error=body)
