"""Scheduled posts: schedule, cancel, retry, show, validate. Edits, lists, sending: `editing`, `listing`, `due`."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NoReturn

from chassis.db import clock
from chassis.db.operations import Effect, Operations, once
from chassis.ids import new_id
from chassis.runtime.loops import wake
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import (
    INVALID_DATE,
    NOT_FOUND,
    POST_IN_PROGRESS,
    SCHEDULE_OUT_OF_RANGE,
    UNSUPPORTED_PLATFORM,
    ApiError,
)
from contracts.maker import maker_columns
from publishing import attachments, post_events
from publishing.attachments import Attachment
from publishing.context import House
from publishing.platforms.base import NotConnected
from publishing.posts import guardrail_checks
from publishing.records import PageRow, Post
from publishing.rules import content, reach
from publishing.store.holds import Holds
from publishing.store.pages import Pages
from publishing.store.posts import Posts

#: The field a finding is about where the error does not say.
_FIELDS = {"SCHEDULE_OUT_OF_RANGE": "scheduled_at", "PAGE_EXPIRED": "page_id"}
#: Spec "Schedule body", scheduled_at.
SOONEST, LATEST = timedelta(minutes=10), timedelta(days=75)


def schedule(house: House, caller: Caller, request: api.SchedulePost) -> api.ScheduledPost:
    """Queues a post; the same operation again gets the post it made, whatever would be refused by now."""
    work = partial(_schedule, house, caller, request)
    return once(house.database, caller, work, partial(shown, house, caller))


def _schedule(house: House, caller: Caller, request: api.SchedulePost) -> api.ScheduledPost:
    scheduled_at = instant(request.scheduled_at)
    with Attachment(house, caller, new_id("pst")) as attachment:
        if request.media_ids:
            _attach(house, caller, request, scheduled_at, attachment)
        return _queue(house, caller, request, scheduled_at, attachment).scheduled_view()


def _attach(
    house: House, caller: Caller, request: api.SchedulePost, scheduled_at: datetime, attachment: Attachment
) -> None:
    """Attaches the files of a post that nothing but the guardrails can refuse."""
    with house.database.reading() as connection:
        found, now = Pages(connection).get_with_time(request.page_id)
    page = reach.page(caller, found)
    check_page(house, page)
    check_time(scheduled_at, now)
    check_content(house, request, page.platform, attachment.attach)


def shown(house: House, caller: Caller, post_id: str) -> api.ScheduledPost:
    """What the same operation gets again: the post as it is by now."""
    return get_post(house, caller, post_id, by_operator=True).scheduled_view()


def _queue(
    house: House, caller: Caller, request: api.SchedulePost, scheduled_at: datetime, attachment: Attachment
) -> Post:
    """Asks all rules and stores the post, in one transaction: with two messages to the database, without files."""
    with house.database.transaction() as connection:
        store, effect = Posts(connection), Effect(caller, attachment.post_id)
        around = guardrail_checks.lock_for_schedule(store, request.page_id, scheduled_at, effect)
        page = reach.page(caller, around.page)
        check_page(house, page)
        if not request.media_ids:  # else it was asked before the files were attached
            check_time(scheduled_at, around.now)
            check_content(house, request, page.platform, content.find_nothing)
        breach = guardrail_checks.breach_of_schedule(store, page, scheduled_at, around.near)
        if breach is not None:
            raise guardrail_checks.refusal(breach, scheduled_at)
        row = new_post(caller, page, request, attachment, around.now, scheduled_at)
        if not row["media_ids"]:
            post = store.add_last(row)
        else:
            post = store.add(row)
            if post is not None:
                post_events.tell_media(connection, post)
        # The release before this one has made it at the same moment: the operation keeps no other id.
        if post is None:
            raise ApiError(POST_IN_PROGRESS)
    return post


def new_post(
    caller: Caller,
    page: PageRow,
    request: api.PostContent,
    attachment: Attachment,
    now: datetime,
    scheduled_at: datetime | None = None,
) -> dict[str, Any]:
    """The row of a new post; without a time it is published at once."""
    return {
        "id": attachment.post_id,
        "created_at": now,
        "state": "queued",
        "operation_id": caller.operation_id,
        "account_id": page.account_id,
        "brand_id": page.brand_id,
        "page_id": page.id,
        "platform": page.platform,
        "origin": "scheduled" if scheduled_at else "immediate",
        "scheduled_at": scheduled_at or now,
        "out_at": scheduled_at or now,
        "traceparent": tracing.traceparent() or None,
        **maker_columns(caller),
        **content.columns(request, attachment.files),
    }


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


def show(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """The operator sees anybody's."""
    return get_post(house, caller, request.id, by_operator=True).scheduled_view()


def cancel(house: House, caller: Caller, request: api.PostId) -> api.Cancelled:
    """Also answered to the operation that has cancelled it before, as its first answer may be lost."""
    work = partial(_cancel, house, caller, request)
    return once(house.database, caller, work, partial(_cancelled, house, caller))


def _cancelled(house: House, caller: Caller, post_id: str) -> api.Cancelled:
    return api.Cancelled(success=True, id=get_post(house, caller, post_id).id)


def _cancel(house: House, caller: Caller, request: api.PostId) -> api.Cancelled:
    post = get_scheduled(house, caller, request.id)
    with house.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        cancelled = store.cancel(post.id) or unchangeable(store, post.id)
        revision = post_events.tell_media(connection, cancelled) if cancelled.media_ids else 0
        operations.end(caller, post.id)
    if cancelled.media_ids:
        attachments.settle(house, cancelled, revision)
    return api.Cancelled(success=True, id=post.id)


def retry(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """A failed post is due now, and the caller's; 409 when it is queued, 404 in any other state (decisions), or when a
    file is gone.

    The same operation again gets the post, and tries it no second time. Raises TOKEN_REVOKED for a call that was on its
    way while its token was revoked.
    """
    work = partial(_retry, house, caller, request)
    return once(house.database, caller, work, partial(shown, house, caller))


def _retry(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    post = get_scheduled(house, caller, request.id)
    if post.state == "failed":
        with house.database.reading() as connection:
            page = Pages(connection).get(post.page_id)
        assert page is not None
        check_page(house, page)
        if post.media_ids:
            attachments.attach(house, post.owner, post.id, post.media_ids, post.media_revision + 1)
    with house.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        Holds(connection).check_access(caller)
        found, _ = Pages(connection).lock_with_time(post.page_id)
        reach.page(caller, found, field=None)
        again = store.requeue(post.id, caller) or unchangeable(store, post.id)
        if again.media_ids:
            post_events.tell_media(connection, again)
        operations.end(caller, post.id)
    wake("publish_due_posts")
    return again.scheduled_view()


def bring_due(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    """Operator: a queued post's time becomes now. The same operation again gets it, also when it has gone out."""
    caller.check_operator()
    work = partial(_bring_due, house, caller, request)
    return once(house.database, caller, work, partial(shown, house, caller))


def _bring_due(house: House, caller: Caller, request: api.PostId) -> api.ScheduledPost:
    with house.database.transaction() as connection:
        store, operations = Posts(connection), Operations(connection)
        operations.begin(caller)
        now = clock.now(connection)
        post = store.change(request.id, {"scheduled_at": now, "out_at": now}) or unchangeable(
            store, request.id
        )
        operations.end(caller, post.id)
    wake("publish_due_posts")
    return post.scheduled_view()


def get_post(
    house: House, caller: Caller, post_id: str, field: str | None = None, *, by_operator: bool = False
) -> Post:
    """A post the caller may see; with `by_operator` anybody's for the operator.

    Raises NOT_FOUND (with `field`), BRAND_NOT_AUTHORIZED.
    """
    with house.database.reading() as connection:
        post = Posts(connection).get(post_id)
    if post is None:
        raise ApiError(NOT_FOUND, **({"field": field} if field else {}))
    if not (by_operator and caller.is_operator):
        caller.check_reach(post.account_id, post.brand_id, field=field)
    return post


def get_scheduled(house: House, caller: Caller, post_id: str) -> Post:
    """The same for what only scheduled posts know; one published at once is not found."""
    post = get_post(house, caller, post_id)
    if post.origin != "scheduled":
        raise ApiError(POST_IN_PROGRESS if post.status == "queued" else NOT_FOUND)
    return post


def check_content(house: House, request: api.PostContent, platform: str, find: content.Find) -> None:
    """Raises the first finding of the content rules; `find` tells of the files behind media_ids."""
    settings = house.settings
    content.check(request, platform, settings.outbound_host_map, settings.own_media, find)


def check_page(house: House, page: PageRow) -> None:
    """Raises PAGE_EXPIRED."""
    if page.expired:
        raise house.expired(page.id)


def check_connected(house: House, page: PageRow) -> None:
    """Raises UNSUPPORTED_PLATFORM. A schedule is not refused for it: the connector may be there by then."""
    try:
        house.registry.connector(page.platform)
    except NotConnected as error:
        raise ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform) from error


def check_time(scheduled_at: datetime, now: datetime) -> None:
    """Raises SCHEDULE_OUT_OF_RANGE."""
    earliest, latest = now + SOONEST, now + LATEST
    if not earliest <= scheduled_at <= latest:
        raise ApiError(
            SCHEDULE_OUT_OF_RANGE,
            earliest=guardrail_checks.stamp(earliest),
            latest=guardrail_checks.stamp(latest),
        )


def instant(value: datetime) -> datetime:
    """UTC in whole milliseconds. Raises INVALID_DATE for a time without a zone or beyond the calendar."""
    if value.tzinfo is None:
        raise ApiError(INVALID_DATE, field="scheduled_at")
    try:
        value = value.astimezone(UTC)
    except OverflowError:
        raise ApiError(INVALID_DATE, field="scheduled_at") from None
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def unchangeable(store: Posts, post_id: str) -> NoReturn:
    """Refuses the change of a post that is not in the state for it. Raises POST_IN_PROGRESS, NOT_FOUND."""
    post = store.get(post_id)
    raise ApiError(POST_IN_PROGRESS if post is not None and post.status == "queued" else NOT_FOUND)


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
