"""Edits queued and held posts: time, content, files."""

from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from chassis.db.operations import Done, Operations, once
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, POST_IN_PROGRESS, SERVICE_UNAVAILABLE, ApiError
from publishing import attachments, post_events
from publishing.attachments import Attachment
from publishing.context import AppContext
from publishing.posts.checks import (
    check_content,
    check_first_comment,
    check_guardrails,
    check_page,
    check_time,
    instant,
    unchangeable,
)
from publishing.posts.reading import get_scheduled, shown
from publishing.records import Attached, PageRow, Post
from publishing.rules import content
from publishing.store.holds import Holds
from publishing.store.pages import Pages
from publishing.store.posts import Posts, taken_over

_EDITABLE = ("queued", "held")


def edit(app: AppContext, caller: Caller, request: api.EditPost) -> api.ScheduledPost:
    """Changes a queued or held post. Checks the rules again for the changed fields.

    The caller becomes the maker (user and token) of a queued post. A held post keeps its maker and stays held. A
    repeated request gets the post as it is now. Raises NOT_FOUND or POST_IN_PROGRESS if the post's state does not allow
    a change, TOKEN_REVOKED if the token was revoked during the call, and the errors of `schedule`.
    """
    work = partial(_edit, app, caller, request)
    return once(app.database, caller, work, partial(shown, app, caller))


def _edit(app: AppContext, caller: Caller, request: api.EditPost) -> api.ScheduledPost:
    post = get_scheduled(app, caller, request.id)
    if post.state not in _EDITABLE:  # before any other error of the edit
        raise ApiError(POST_IN_PROGRESS if post.status == "queued" else NOT_FOUND)
    with app.database.reading() as connection:
        page, now = Pages(connection).get_with_time(post.page_id)
    assert page is not None
    check_page(app, page)
    try:
        files = _new_files(app, caller, page, post, request)
        with app.database.transaction() as connection:
            store, operations = Posts(connection), Operations(connection)
            operations.begin(caller)
            Holds(connection).check_access(caller)
            time = _new_time(store, page, post, request, now)
            current = store.lock(post.id)
            if current is None or current.state not in _EDITABLE:
                unchangeable(store, post.id)
            values = time | _new_content(app, page, current, request, files)
            if values and current.state == "queued":
                values |= taken_over(caller)
            changed = store.change(post.id, values, states=(current.state,)) if values else current
            assert changed is not None
            revision = 0
            if changed.media_ids != current.media_ids:
                revision = post_events.stage_media(connection, changed)
            operations.end(caller, post.id)
    except (ApiError, Done) as error:
        is_open = isinstance(error, ApiError) and error.row is SERVICE_UNAVAILABLE
        if request.media_ids and not is_open:
            attachments.restore(app, post.id)
        raise
    if current.media_ids and not changed.media_ids:
        attachments.settle(app, changed, revision)
    elif files and current.media_revision != post.media_revision:  # another edit was stored meanwhile
        attachments.restore(app, post.id)
    return changed.scheduled_view()


def _new_files(
    app: AppContext, caller: Caller, page: PageRow, post: Post, request: api.EditPost
) -> tuple[Attached, ...] | None:
    """Attaches the files that the edit names, and checks the changed content. Returns these files; None, without a
    check, if the edit does not change the files. The post's present files stay attached as well.
    """
    if request.media_ids is UNSET:
        return None
    attachment = Attachment(app, caller, post.id, revision=post.media_revision + 1, is_new=False)
    _check(app, page, post, _edited(post, request), partial(attachment.attach, page.platform))
    return attachment.files


def _check(app: AppContext, page: PageRow, post: Post, changed: api.PostContent, find: content.Find) -> None:
    """Raises the first error in the changed content. Checks the permission to comment only if the first comment
    changes."""
    if changed.first_comment != post.content.first_comment:
        check_first_comment(app, changed, page)
    check_content(app, changed, page, find)


def _edited(post: Post, request: api.EditPost) -> api.PostContent:
    names = (name for name in api.PostContent.__struct_fields__ if getattr(request, name) is not UNSET)
    return msgspec.structs.replace(post.content, **{name: getattr(request, name) for name in names})


def _new_time(
    store: Posts, page: PageRow, post: Post, request: api.EditPost, now: datetime
) -> dict[str, Any]:
    """Checks the time that an edit names and returns the columns to store; empty if it names none. Raises ApiError if
    the time is not allowed or breaks a guardrail.
    """
    if request.scheduled_at is UNSET:
        return {}
    scheduled_at = instant(request.scheduled_at)
    check_time(scheduled_at, now)
    around = store.lock_around(page.id, page.account_id, scheduled_at, without=post.id)
    check_guardrails(store, page, scheduled_at, around, without=post.id)
    return {"scheduled_at": scheduled_at, "out_at": scheduled_at}


def _new_content(
    app: AppContext, page: PageRow, post: Post, request: api.EditPost, files: tuple[Attached, ...] | None
) -> dict[str, Any]:
    """Checks the rules for changed content and returns the columns to store.

    Removes the checkpoint, because it names objects that were uploaded for the old content. A look-up would mistake
    them for parts of the new content.
    """
    changed = _edited(post, request)
    if changed == post.content:
        return {}
    held = post.files if files is None else files
    _check(app, page, post, changed, lambda media_ids: held)
    return content.columns(changed, held) | {"media_types": None, "checkpoint": None}
