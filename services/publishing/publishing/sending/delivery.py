"""Makes one attempt to publish a post: calls the platform and interprets its answer. `outcome_writer` stores the
outcome."""

from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from contracts.errors import MEDIA_PROCESSING, PAGE_EXPIRED, PLATFORM_REJECTED
from contracts.platforms import PLATFORMS
from publishing.context import AppContext
from publishing.pages.expiry import expiry_in
from publishing.pages.renewal import effective_refusal
from publishing.platforms.base import (
    Checkpoint,
    Content,
    MediaSource,
    NotConnected,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
)
from publishing.platforms.http_client import permission
from publishing.platforms.limits import check_content, check_files
from publishing.records import PageRow, Post
from publishing.rules.content import storable
from publishing.rules.retries import wait_before_next
from publishing.sending import post_files
from publishing.store.final_ids import FinalIds
from publishing.store.sending import AttemptOutcome, Claim, Sending

log = structlog.get_logger()

#: The advice for a failed post, by its origin: one that was published at once cannot be retried.
AGAIN = {"scheduled": "retry the post", "immediate": "publish it again"}
#: The advice for a scheduled post whose page has expired.
RECONNECT = f"Reconnect the page, then {AGAIN['scheduled']}."
#: The wait before the first look-up of a post's final id: a platform that gives it late needs some seconds at least.
FIRST_ID_SECONDS = 10.0


class ClaimLost(Exception):
    """Raised when the claim has lapsed, or may have lapsed: nothing more may be sent. Caught in this module."""


def deliver(app: AppContext, page: PageRow, post: Post) -> AttemptOutcome:
    """Sends a post whose attempt is already stored, and returns the outcome.

    After an unforeseen error, or if the claim was lost in between, the outcome is unknown, because something may have
    been sent. If another process has claimed the post since, the post has a higher fencing token, and this outcome is
    not stored.
    """
    try:
        connector, account = app.connection_to(page)
        sources = _checked_media(app, page, post)
        with permission(partial(_check_claim, app, post)):
            published = connector.publish(account, content_of(post, sources), checkpoint_of(app, post))
        await_final_id(app, post, published)
    except PlatformRefusal as refusal:
        final = effective_refusal(app, page, refusal)
        return replace(refused(post, final), expired=expiry_in(app, page, final))
    except NotConnected as error:
        return refused(post, PlatformRefusal(Refusal.REJECTED, "UNSUPPORTED_PLATFORM", str(error)))
    except ClaimLost:
        log.warning("claim_lost", post_id=post.id, page_id=page.id)
        return unknown(app, post)
    except post_files.FilesNotReady as error:
        return not_begun(post, error)
    except OutcomeUnknown as error:
        log.warning("outcome_unknown", post_id=post.id, page_id=page.id, reason=str(error))
        return unknown(app, post)
    except Exception:
        log.exception("publish_failed_unforeseen", post_id=post.id, page_id=page.id)
        return unknown(app, post)
    return published_outcome(post, published)


def content_of(post: Post, sources: tuple[MediaSource, ...]) -> Content:
    """Returns the content of a post in the form that connectors publish."""
    own = (post.settings or {}).get(PLATFORMS[post.platform].settings_field)
    return Content(message=post.message or "", media=sources, settings=own or {})


def checkpoint_of(app: AppContext, post: Post) -> Checkpoint:
    """Returns the post's checkpoint. Its `save` raises ClaimLost if the post's claim no longer holds, so that nothing
    more is sent."""
    claim = Claim(post.id, post.fence)

    def store(values: dict[str, Any]) -> None:
        with app.database.transaction() as connection:
            if not Sending(connection).save_checkpoint(claim, values):
                raise ClaimLost(post.id)
        _check_claim(app, post)  # the commit may have taken longer than the lease had left

    return Checkpoint(post.checkpoint or {}, store)


def _check_claim(app: AppContext, post: Post) -> None:
    """Raises ClaimLost if the worker's lease may have ended: this process was frozen, or could not reach the database,
    for nearly as long as the lease lasts.
    """
    if not app.lease.holds(post.worker_id):
        raise ClaimLost(post.id)


def _checked_media(app: AppContext, page: PageRow, post: Post) -> tuple[MediaSource, ...]:
    """Returns the post's files, after checking them and the text as they are now. Raises PlatformRefusal if the
    platform would refuse them, FilesNotReady while a file is being converted, and ClaimLost if the claim was lost.
    """
    files = post_files.files_of(app, post) if post.media_ids or post.media_urls else []
    sources = tuple(source for _, source in files)
    for error in (
        *check_content(
            post.platform,
            post.message or "",
            [source.type for source in sources],
            settings=content_of(post, ()).settings,
            account_limit=page.message_limit,
        ),
        *check_files(post.platform, files, len(files)),
    ):
        raise PlatformRefusal(Refusal.REJECTED, error.code, error.message)
    if post.media_urls:
        with app.database.transaction() as connection:
            claim = Claim(post.id, post.fence)
            if not Sending(connection).save_media_types(
                claim, [source.type for source in sources[len(post.media_ids) :]]
            ):
                raise ClaimLost(post.id)
    return sources


def await_final_id(app: AppContext, post: Post, published: Published) -> None:
    """Stores that the post's final id must still be asked for, if the platform gives that id only later."""
    if published.is_named_later:
        with app.database.transaction() as connection:
            FinalIds(connection).wait(post.id, FIRST_ID_SECONDS)


def published_outcome(post: Post, published: Published, *, looked_up: bool = False) -> AttemptOutcome:
    return AttemptOutcome(
        id=post.id,
        fence=post.fence,
        state="published",
        outcome="published",
        looked_up=looked_up,
        remote_id=published.remote_id,
        permalink=published.permalink,
    )


def refused(post: Post, refusal: PlatformRefusal, outcome: str = "refused") -> AttemptOutcome:
    """Returns the outcome of an attempt that published nothing. If a retry can help and one is left, the post is queued
    again; otherwise it has failed. A post published at once is tried only once.

    `post.attempts` includes this attempt. `outcome` is the outcome to store with the attempt.
    """
    expired = refusal.kind is Refusal.EXPIRED
    wait = None
    if refusal.retryable and post.origin == "scheduled":
        wait = wait_before_next(post.attempts - post.attempts_before, refusal.wait_seconds)
    advice = f"Reconnect the page, then {AGAIN[post.origin]}."
    return AttemptOutcome(
        id=post.id,
        fence=post.fence,
        state="failed" if wait is None else "queued",
        outcome=outcome,
        wait_seconds=wait or 0.0,
        error_code=PAGE_EXPIRED.code if expired else PLATFORM_REJECTED.code,
        error_message=storable(f"{refusal.message} ({refusal.code})" + (f". {advice}" if expired else "")),
        refusal=refusal,
    )


def not_begun(post: Post, reason: post_files.FilesNotReady) -> AttemptOutcome:
    """Returns the outcome of an attempt whose files are not ready. A scheduled post is due again soon, and the attempt
    does not count. A post published at once has failed."""
    if post.origin == "immediate":
        refusal = PlatformRefusal(Refusal.TRANSIENT, MEDIA_PROCESSING.code, MEDIA_PROCESSING.message)
        return refused(post, refusal)
    return AttemptOutcome(
        id=post.id,
        fence=post.fence,
        state="queued",
        outcome="not_begun",
        wait_seconds=reason.wait_seconds,
        error_code=MEDIA_PROCESSING.code,
        error_message=f"{reason} The post goes out as soon as the file is ready.",
    )


def unknown(app: AppContext, post: Post) -> AttemptOutcome:
    first = app.settings.reconcile_first_seconds
    return AttemptOutcome(id=post.id, fence=post.fence, state="unknown", outcome=None, wait_seconds=first)
