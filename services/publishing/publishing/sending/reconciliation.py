"""Outcomes that are not known: looked up on the platform until they are. Nothing is sent from here."""

from dataclasses import replace
from functools import partial

import structlog

from chassis.telemetry import tracing
from contracts.errors import PLATFORM_OUTCOME_UNKNOWN
from contracts.platforms import DAY_SECONDS
from publishing import post_events
from publishing.context import House
from publishing.pages.connection import connection_to
from publishing.platforms.base import (
    Checkpoint,
    MediaSource,
    NotPublished,
    OpenAttempt,
    Outcome,
    PlatformRefusal,
    Published,
    Refusal,
    StillUnknown,
)
from publishing.records import PageRow
from publishing.rules.post_ownership import own_post
from publishing.sending.delivery import AGAIN, await_name, content_of, published_record, refused
from publishing.sending.reconciliation_waits import look_failed, next_look
from publishing.store.pages import Pages
from publishing.store.reconciliation import Look, Looks
from publishing.store.sending import Claim, Recorded, Sending
from publishing.task_pool import Task

log = structlog.get_logger()

#: An outcome that nobody can establish for so long is given up: failed, and never sent again. Our choice.
GIVE_UP_SECONDS = DAY_SECONDS


def look_up_posts(house: House) -> int:
    """One tick: claims what is to be looked at and starts looking; how many."""
    return house.side.fill("look-ups", partial(_claim, house))


def _claim(house: House, places: int) -> list[Task]:
    with house.scribe.claiming() as (connection, note):
        looks = Looks(connection).claim_looks(places, house.lease.lock(connection))
        note(*(Claim(look.post.id, look.post.fence) for look in looks))
        pages = Pages(connection).many([look.post.page_id for look in looks])
        return [partial(run_look, house, pages[look.post.page_id], look) for look in looks]


def run_look(house: House, page: PageRow, look: Look) -> None:
    """One look at one post, and what follows from it."""
    claim = Claim(look.post.id, look.post.fence)
    try:
        named = {"post_id": look.post.id, "platform": look.post.platform}
        with tracing.working(
            "look up post", look.post.traceparent, "publishing", look.post.account_id, **named
        ):
            _settle(house, page, look)
    finally:
        house.scribe.let_go(claim)


def _settle(house: House, page: PageRow, look: Look) -> None:
    outcome = _look(house, page, look)
    if isinstance(outcome, Published):
        await_name(house, look.post, outcome)
    with house.database.transaction() as connection:
        looks = Looks(connection)
        if isinstance(outcome, Published):
            looks.lock_conclusions(page)
            outcome = _own_post(looks, look, outcome) or StillUnknown()
        record = conclude(house, look, outcome)
        ended = Sending(connection).record([record])
        if Checkpoint(look.post.checkpoint).restored_at is not None:
            looks.doubt_first_comments([post.id for post in ended], look.began_at)
        post_events.tell(connection, ended)
    log.info("outcome_looked_up", post_id=look.post.id, state=record.state)


def _own_post(looks: Looks, look: Look, found: Published) -> Published | None:
    """Returns the candidate that is this post's; None while each may be another post of ours."""
    candidates = found.guess.candidates if found.guess else (found,)
    taken = looks.taken(look.post, [one.remote_id for one in candidates])
    others = looks.open_others(look) if found.guess else []
    return own_post(look.post, found, taken, others)


def conclude(house: House, look: Look, outcome: Outcome) -> Recorded:
    """What a look's answer means for the post."""
    post = look.post
    if isinstance(outcome, Published):
        return published_record(post, outcome, looked_up=True)
    if isinstance(outcome, NotPublished):
        settled = outcome.settled or look.unknown_seconds >= house.settings.reconcile_settle_seconds
        if settled:
            record = refused(post, outcome.refusal or _NOT_KEPT, "not_published").record
            # The wait for the next attempt runs from this one, not from now.
            return replace(record, wait_seconds=max(record.wait_seconds - look.unknown_seconds, 0.0))
    if look.unknown_seconds >= GIVE_UP_SECONDS:
        return Recorded(
            id=post.id,
            fence=post.fence,
            state="failed",
            outcome="given_up",
            error_code=PLATFORM_OUTCOME_UNKNOWN.code,
            error_message=_GIVEN_UP.format(again=AGAIN[post.origin]),
        )
    return _again(house, look, outcome.wait_seconds if isinstance(outcome, StillUnknown) else 0.0)


_GIVEN_UP = (
    "It could not be established whether the platform published the post. Look for it on the page; {again} only if it"
    " is not there."
)
_NOT_KEPT = PlatformRefusal(
    Refusal.TRANSIENT, "NOT_KEPT", "The platform took the request and published nothing."
)


def _look(house: House, page: PageRow, look: Look) -> Outcome:
    """What the platform says; a look that fails says nothing."""
    post = look.post
    checkpoint = Checkpoint(post.checkpoint)
    if checkpoint.answered is not None:
        return Published(checkpoint.answered, post.permalink)
    try:
        with house.database.reading() as connection:
            others = Looks(connection).remote_ids_of_others(look)
        connector, account = connection_to(house, page)
        sources = tuple(MediaSource(type=item.type, url=item.src) for item in post.media)
        return connector.outcome(
            OpenAttempt(account, content_of(post, sources), checkpoint, look.began_at, others)
        )
    except Exception as problem:  # noqa: BLE001 - `look_failed` logs it
        return StillUnknown(look_failed(house, page, problem, look.unknown_seconds, post_id=post.id))


def _again(house: House, look: Look, least_seconds: float = 0.0) -> Recorded:
    wait = max(next_look(house, look.unknown_seconds), least_seconds)
    return Recorded(id=look.post.id, fence=look.post.fence, state="unknown", outcome=None, wait_seconds=wait)
