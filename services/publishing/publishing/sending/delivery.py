"""One attempt at one post: the call to the platform, and what its answer means. Nothing is stored here."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from contracts.errors import PAGE_EXPIRED, PLATFORM_REJECTED
from contracts.platforms import DAY_SECONDS, PLATFORMS
from publishing.context import House
from publishing.pages.renewal import softened
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
from publishing.platforms.limits import check_content
from publishing.platforms.media_limits import check_files
from publishing.platforms.permission import permission
from publishing.records import PageRow, Post
from publishing.rules.content import storable
from publishing.rules.retries import wait_before_next
from publishing.sending import post_files
from publishing.store.final_ids import Names
from publishing.store.sending import Claim, Recorded, Sending

log = structlog.get_logger()

#: What to do to have a post that failed tried again, by its origin: one that was published at once is not retried.
AGAIN = {"scheduled": "retry the post", "immediate": "publish it again"}
#: What to do about a scheduled post whose page's connection is over.
RECONNECT = f"Reconnect the page, then {AGAIN['scheduled']}."
#: First look for a post's name that comes later. Our choice.
FIRST_NAME_SECONDS = 10.0


class ClaimLost(Exception):
    """The claim has lapsed, or may have: nothing further may be sent. Raised and caught in here."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What to write down, and the platform's refusal behind it if there is one."""

    record: Recorded
    refusal: PlatformRefusal | None = None

    @property
    def is_expired(self) -> bool:
        return self.refusal is not None and self.refusal.kind is Refusal.EXPIRED

    @property
    def rest_seconds(self) -> float:
        """How long the platform takes no posts of the page, as far as it says so; 0: it takes some."""
        is_limited = self.refusal is not None and self.refusal.kind is Refusal.RATE_LIMITED
        return min(self.refusal.wait_seconds or 0.0, DAY_SECONDS) if is_limited and self.refusal else 0.0


def deliver(house: House, page: PageRow, post: Post) -> Delivered:
    """Sends a post whose attempt is written; anything unforeseen counts as unknown.

    So does a claim that was lost on the way: something may have been sent before. If another process has the post now,
    its higher fence makes the record void.
    """
    try:
        connector, account = house.registry.connector(page.platform), house.account(page)
        sources = _checked_media(house, post)
        with permission(partial(_check_claim, house, post)):
            published = connector.publish(account, content_of(post, sources), checkpoint_of(house, post))
        await_name(house, post, published)
    except PlatformRefusal as refusal:
        return refused(post, softened(house, page, refusal))
    except NotConnected as error:
        return refused(post, PlatformRefusal(Refusal.REJECTED, "UNSUPPORTED_PLATFORM", str(error)))
    except ClaimLost:
        log.warning("claim_lost", post_id=post.id, page_id=page.id)
        return unknown(house, post)
    except OutcomeUnknown as error:
        log.warning("outcome_unknown", post_id=post.id, page_id=page.id, reason=str(error))
        return unknown(house, post)
    except Exception:
        log.exception("publish_failed_unforeseen", post_id=post.id, page_id=page.id)
        return unknown(house, post)
    return Delivered(published_record(post, published))


def content_of(post: Post, sources: tuple[MediaSource, ...]) -> Content:
    """The post as its connector takes it."""
    own = (post.settings or {}).get(PLATFORMS[post.platform].settings_field)
    return Content(message=post.message or "", media=sources, settings=own or {})


def checkpoint_of(house: House, post: Post) -> Checkpoint:
    """A checkpoint that is stored under the post's fence: a lost claim stops the sending there."""
    claim = Claim(post.id, post.fence)

    def store(values: dict[str, Any]) -> None:
        with house.database.transaction() as connection:
            if not Sending(connection).save_checkpoint(claim, values):
                raise ClaimLost(post.id)
        _check_claim(house, post)  # the commit may have taken longer than the lease had left

    return Checkpoint(post.checkpoint, store)


def _check_claim(house: House, post: Post) -> None:
    """Raises ClaimLost when this process was frozen, or cut off from the database, for nearly as long as its lease."""
    if not house.lease.holds(post.worker_id):
        raise ClaimLost(post.id)


def _checked_media(house: House, post: Post) -> tuple[MediaSource, ...]:
    """The files, checked again as they are now. Raises PlatformRefusal, ClaimLost."""
    held, by_url = post_files.held(house, post), post_files.by_url(house, post)
    sources = (*held, *by_url)
    for error in (
        *check_content(
            post.platform,
            post.message or "",
            [source.type for source in sources],
            settings=content_of(post, ()).settings,
        ),
        *check_files(post.platform, post_files.named(held, by_url), len(sources)),
    ):
        raise PlatformRefusal(Refusal.REJECTED, error.code, error.message)
    if by_url:
        with house.database.transaction() as connection:
            claim = Claim(post.id, post.fence)
            if not Sending(connection).save_media_types(claim, [source.type for source in by_url]):
                raise ClaimLost(post.id)
    return sources


def await_name(house: House, post: Post, published: Published) -> None:
    """Writes down that the platform has yet to name the post, if so."""
    if published.is_named_later:
        with house.database.transaction() as connection:
            Names(connection).await_name(post.id, FIRST_NAME_SECONDS)


def published_record(post: Post, published: Published, *, looked_up: bool = False) -> Recorded:
    return Recorded(
        id=post.id,
        fence=post.fence,
        state="published",
        outcome="published",
        looked_up=looked_up,
        remote_id=published.remote_id,
        permalink=published.permalink,
    )


def refused(post: Post, refusal: PlatformRefusal, outcome: str = "refused") -> Delivered:
    """Definitely not published: again later if that can help and attempts are left, else failed.

    A publish at once is tried once (decisions). `post.attempts` counts the attempt this is about.
    """
    expired = refusal.kind is Refusal.EXPIRED
    wait = None
    if refusal.retryable and post.origin == "scheduled":
        wait = wait_before_next(post.attempts - post.attempts_before, refusal.wait_seconds)
    advice = f"Reconnect the page, then {AGAIN[post.origin]}."
    record = Recorded(
        id=post.id,
        fence=post.fence,
        state="failed" if wait is None else "queued",
        outcome=outcome,
        wait_seconds=wait or 0.0,
        error_code=PAGE_EXPIRED.code if expired else PLATFORM_REJECTED.code,
        error_message=storable(f"{refusal.message} ({refusal.code})" + (f". {advice}" if expired else "")),
    )
    return Delivered(record, refusal)


def unknown(house: House, post: Post) -> Delivered:
    first = house.settings.reconcile_first_seconds
    return Delivered(
        Recorded(id=post.id, fence=post.fence, state="unknown", outcome=None, wait_seconds=first)
    )
