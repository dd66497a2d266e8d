"""Schedules posts."""

from datetime import datetime
from functools import partial
from typing import Any

from chassis.db.operations import Effect, once
from chassis.ids import new_id
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.caller import Caller, maker_columns
from contracts.errors import (
    POST_IN_PROGRESS,
    ApiError,
)
from publishing import post_events
from publishing.attachments import Attachment
from publishing.context import AppContext
from publishing.posts import guardrail_checks
from publishing.posts.checks import check_content, check_first_comment, check_page, check_time, instant
from publishing.posts.reading import shown
from publishing.records import PageRow, Post
from publishing.rules import content, reach
from publishing.store.pages import Pages
from publishing.store.posts import Posts


def schedule(app: AppContext, caller: Caller, request: api.SchedulePost) -> api.ScheduledPost:
    """Stores a post to be published at a time. A repeated operation gets the post it made, even if it would be
    refused now."""
    work = partial(_schedule, app, caller, request)
    return once(app.database, caller, work, partial(shown, app, caller))


def _schedule(app: AppContext, caller: Caller, request: api.SchedulePost) -> api.ScheduledPost:
    scheduled_at = instant(request.scheduled_at)
    with Attachment(app, caller, new_id("pst")) as attachment:
        if request.media_ids:
            _attach(app, caller, request, scheduled_at, attachment)
        return _queue(app, caller, request, scheduled_at, attachment).scheduled_view()


def _attach(
    app: AppContext, caller: Caller, request: api.SchedulePost, scheduled_at: datetime, attachment: Attachment
) -> None:
    """Makes all checks except the guardrails, then attaches the post's files."""
    with app.database.reading() as connection:
        found, now = Pages(connection).get_with_time(request.page_id)
    page = reach.page(caller, found)
    check_page(app, page)
    check_time(scheduled_at, now)
    check_first_comment(app, request, page)
    check_content(app, request, page, partial(attachment.attach, page.platform))


def _queue(
    app: AppContext, caller: Caller, request: api.SchedulePost, scheduled_at: datetime, attachment: Attachment
) -> Post:
    """Checks all rules and stores the post in one transaction. For a post without files this takes two messages to
    the database."""
    with app.database.transaction() as connection:
        store, effect = Posts(connection), Effect(caller, attachment.post_id)
        around = guardrail_checks.lock_for_schedule(store, request.page_id, scheduled_at, effect)
        page = reach.page(caller, around.page)
        check_page(app, page)
        if not request.media_ids:  # otherwise checked before the files were attached
            check_time(scheduled_at, around.now)
            check_first_comment(app, request, page)
            check_content(app, request, page, content.find_nothing)
        breach = guardrail_checks.breach_of_schedule(store, page, scheduled_at, around.near)
        if breach is not None:
            raise guardrail_checks.refusal(breach, scheduled_at)
        row = new_post(caller, page, request, attachment, around.now, scheduled_at)
        if not row["media_ids"]:
            post = store.add_last(row)
        else:
            post = store.add(row)
            if post is not None:
                post_events.stage_media(connection, post)
        # The previous release has made the post at the same moment: the operation must not get a second one.
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
    """Returns the column values of a new post. Without `scheduled_at` it is a post that is published at once."""
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
