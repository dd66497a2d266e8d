"""Checks that several use cases of posts share. Each raises the error for the client."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from contracts import publishing as api
from contracts.errors import (
    INVALID_DATE,
    NOT_FOUND,
    PAGE_PERMISSION_MISSING,
    POST_IN_PROGRESS,
    SCHEDULE_OUT_OF_RANGE,
    UNSUPPORTED_PLATFORM,
    ApiError,
)
from contracts.platforms import PLATFORMS
from publishing.context import AppContext
from publishing.pages.connection import can_comment
from publishing.platforms.base import NotConnected
from publishing.posts import guardrail_checks
from publishing.records import PageRow
from publishing.rules import content
from publishing.store.posts import Posts

#: How far ahead a post may be scheduled (spec "Schedule body").
SOONEST, LATEST = timedelta(minutes=10), timedelta(days=75)


def check_content(app: AppContext, request: api.PostContent, page: PageRow, find: content.Find) -> None:
    """Raises the first error that the content rules find. `find` looks up the files behind media_ids."""
    for finding in content_findings(app, request, page, find):
        raise finding


def content_findings(
    app: AppContext, request: api.PostContent, page: PageRow, find: content.Find
) -> Iterator[ApiError]:
    """Yields every error that the content rules find: VALIDATION_ERROR, INVALID_MEDIA_URL, NOT_FOUND and
    UNSUPPORTED_PLATFORM."""
    settings = app.settings
    return content.findings(
        request, page.platform, settings.outbound_host_map, settings.own_media, find, page.message_limit
    )


def check_first_comment(app: AppContext, request: api.PostContent, page: PageRow) -> None:
    """Raises PAGE_PERMISSION_MISSING if the post has a first comment that the page's token may not write."""
    if request.first_comment and PLATFORMS[page.platform].first_comment:
        check_may_comment(app, page, "first_comment")


def check_may_comment(app: AppContext, page: PageRow, field: str) -> None:
    """Raises PAGE_PERMISSION_MISSING if the page's token may not write comments. `field` is the request field that
    asked for a comment."""
    if can_comment(app, page) is False:
        title = PLATFORMS[page.platform].title
        message = f"{field}: {title} has not given this page's connection the permission to write comments."
        raise ApiError(PAGE_PERMISSION_MISSING, message, field=field, page_id=page.id)


def check_page(app: AppContext, page: PageRow) -> None:
    """Raises PAGE_EXPIRED if the page has expired."""
    if page.expired:
        raise app.expired(page.id)


def check_connected(app: AppContext, page: PageRow) -> None:
    """Raises UNSUPPORTED_PLATFORM if the page's platform has no connector. Not called for scheduled posts, because the
    connector may exist by the time the post is due."""
    try:
        app.registry.connector(page.platform)
    except NotConnected as error:
        raise ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform) from error


def check_time(scheduled_at: datetime, now: datetime) -> None:
    """Raises SCHEDULE_OUT_OF_RANGE unless the time lies between SOONEST and LATEST from now."""
    earliest, latest = now + SOONEST, now + LATEST
    if not earliest <= scheduled_at <= latest:
        raise ApiError(
            SCHEDULE_OUT_OF_RANGE,
            earliest=guardrail_checks.stamp(earliest),
            latest=guardrail_checks.stamp(latest),
        )


def instant(value: datetime) -> datetime:
    """Converts a time to UTC in whole milliseconds. Raises INVALID_DATE for a time without a zone or out of range."""
    if value.tzinfo is None:
        raise ApiError(INVALID_DATE, field="scheduled_at")
    try:
        value = value.astimezone(UTC)
    except OverflowError:
        raise ApiError(INVALID_DATE, field="scheduled_at") from None
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


def unchangeable(store: Posts, post_id: str) -> NoReturn:
    """Raises the error for a change that the post's state does not allow: POST_IN_PROGRESS or NOT_FOUND."""
    post = store.get(post_id)
    raise ApiError(POST_IN_PROGRESS if post is not None and post.status == "queued" else NOT_FOUND)
