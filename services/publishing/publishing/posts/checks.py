"""The checks that several use cases of posts share. Each raises the error for the client.

The guardrails' rules are in `rules/guardrails.py`. Here they are applied to times read under the database's locks.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from chassis.vault import UnreadableSecret
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
from contracts.platforms import BRAND_PER_24H, PLATFORMS
from publishing.context import AppContext
from publishing.platforms.base import NotConnected
from publishing.platforms.registry import may_comment
from publishing.records import Credentials, PageRow
from publishing.rules import content
from publishing.rules.guardrails import REACH, judge
from publishing.store.posts import Posts, Surroundings

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
    """Raises PAGE_PERMISSION_MISSING if the page's token may not write comments, by the scopes of its last linking or
    renewal.

    `field` is the request field that asked for a comment.
    """
    try:
        granted = Credentials.opened(app.vault, page.access_token).scopes
    except UnreadableSecret:
        return
    if may_comment(page.platform, granted) is False:
        title = PLATFORMS[page.platform].title
        message = f"{field}: {title} has not given this page's connection the permission to write comments."
        raise ApiError(PAGE_PERMISSION_MISSING, message, field=field, page_id=page.id)


def check_page(app: AppContext, page: PageRow) -> None:
    """Raises PAGE_EXPIRED if the page has expired."""
    if page.expired:
        raise app.expired(page.id)


def check_connected(app: AppContext, page: PageRow) -> None:
    """Raises UNSUPPORTED_PLATFORM if the page's platform has no connector. Not called for a scheduled post, because
    there may be a connector when the post is due."""
    try:
        app.connector(page.platform)
    except NotConnected as error:
        raise ApiError(UNSUPPORTED_PLATFORM, str(error), platform=page.platform) from error


def check_time(scheduled_at: datetime, now: datetime) -> None:
    """Raises SCHEDULE_OUT_OF_RANGE unless the time lies between SOONEST and LATEST from now."""
    earliest, latest = now + SOONEST, now + LATEST
    if not earliest <= scheduled_at <= latest:
        raise ApiError(SCHEDULE_OUT_OF_RANGE, earliest=stamp(earliest), latest=stamp(latest))


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
    """Raises the error for a change that the post's state does not allow: POST_IN_PROGRESS if clients see the post as
    queued, otherwise NOT_FOUND.
    """
    post = store.get(post_id)
    raise ApiError(POST_IN_PROGRESS if post is not None and post.status == "queued" else NOT_FOUND)


def check_guardrails(
    store: Posts, page: PageRow, at: datetime | None, around: Surroundings, *, without: str = ""
) -> None:
    """Raises PAGE_PUBLISH_GUARDRAIL or BRAND_PUBLISH_GUARDRAIL if a post scheduled for `at` (None: published now) would
    break a guardrail, given the other posts `around` that time. `without` is the id of a post that is moved.

    The error's `retry_after_seconds` counts from `at`, or from now.
    """
    moment, near = at or around.now, around.near
    # Of the brand's posts only the number is read: as many times as the cap if the brand has reached it, else none.
    brand = [moment] * BRAND_PER_24H if near.brand_count >= BRAND_PER_24H else []
    if judge(moment, page.platform, page=near.page, brand=brand, scheduled=near.scheduled) is None:
        return
    later = store.all_later(page, moment - REACH, is_scheduled=at is not None, without=without)
    breach = judge(moment, page.platform, page=later.page, brand=later.brand, scheduled=later.scheduled)
    if breach is None:
        return
    wait = math.ceil((breach.next_allowed_at - moment).total_seconds())
    next_allowed_at = stamp(breach.next_allowed_at)
    message = f"{breach.row.message} The next free time is {next_allowed_at}."
    raise ApiError(breach.row, message, retry_after_seconds=wait, next_allowed_at=next_allowed_at)


def stamp(at: datetime) -> str:
    """Formats a time in an error's text as the API does, rounded up to a millisecond so that a request for it
    succeeds."""
    at += timedelta(microseconds=-at.microsecond % 1000)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
