"""Schedules posts: checks the rules and stores a post that is published at its time."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from chassis.db.operations import Effect, once
from chassis.ids import new_id
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.caller import Caller, maker_columns
from publishing import post_events
from publishing.attachments import Attachment
from publishing.context import AppContext
from publishing.posts.checks import (
    check_content,
    check_first_comment,
    check_guardrails,
    check_page,
    check_time,
    instant,
)
from publishing.posts.reading import shown
from publishing.records import Attached, PageRow, Post, reached
from publishing.rules import content
from publishing.store.pages import Pages
from publishing.store.posts import Posts


def schedule(app: AppContext, caller: Caller, request: api.SchedulePost) -> api.ScheduledPost:
    """Stores a post to be published at a time. A repeated request gets its post, even if it would be refused now."""
    work = partial(_schedule, app, caller, request)
    return once(app.database, caller, work, partial(shown, app, caller))


def _schedule(app: AppContext, caller: Caller, request: api.SchedulePost) -> api.ScheduledPost:
    scheduled_at, post_id = instant(request.scheduled_at), new_id("pst")
    if not request.media_ids:
        return _queue(app, caller, request, scheduled_at, post_id).scheduled_view()
    with Attachment(app, caller, post_id) as attachment:
        _attach(app, caller, request, scheduled_at, attachment)
        return _queue(app, caller, request, scheduled_at, post_id, attachment.files).scheduled_view()


def _attach(
    app: AppContext, caller: Caller, request: api.SchedulePost, scheduled_at: datetime, attachment: Attachment
) -> None:
    """Makes all checks except the guardrails, and attaches the post's files. The files are attached before the last of
    these checks, which need their properties.
    """
    with app.database.reading() as connection:
        found, now = Pages(connection).get_with_time(request.page_id)
    page = reached(caller, found)
    check_page(app, page)
    _check(app, request, page, scheduled_at, now, partial(attachment.attach, page.platform))


def _check(
    app: AppContext, request: api.SchedulePost, page: PageRow, at: datetime, now: datetime, find: content.Find
) -> None:
    check_time(at, now)
    check_first_comment(app, request, page)
    check_content(app, request, page, find)


def _queue(
    app: AppContext,
    caller: Caller,
    request: api.SchedulePost,
    scheduled_at: datetime,
    post_id: str,
    files: Sequence[Attached] = (),
) -> Post:
    """Checks the guardrails and stores the post in one transaction. Makes all other checks as well if the post has no
    files; with files, `_attach` has made them before.
    """
    with app.database.transaction() as connection:
        store, effect = Posts(connection), Effect(caller, post_id)
        around = store.lock_around(request.page_id, caller.account_id, scheduled_at, effect=effect)
        page = reached(caller, around.page)
        check_page(app, page)
        if not files:  # otherwise checked before the files were attached
            _check(app, request, page, scheduled_at, around.now, content.find_nothing)
        check_guardrails(store, page, scheduled_at, around)
        row = new_post(caller, page, request, post_id, files, around.now, scheduled_at)
        if not files:
            return store.add_last(row)
        post = store.add(row)
        post_events.stage_media(connection, post)
    return post


def new_post(
    caller: Caller,
    page: PageRow,
    request: api.PostContent,
    post_id: str,
    files: Sequence[Attached],
    now: datetime,
    scheduled_at: datetime | None = None,
) -> dict[str, Any]:
    """Returns the column values of a new post. Without `scheduled_at` it is a post that is published at once."""
    return {
        "id": post_id,
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
        **content.columns(request, files),
    }
