"""Reconciliation of posts: looks up posts with an unknown outcome on the platform until the outcome is known. Sends
nothing."""

from dataclasses import replace
from functools import partial

import structlog

from chassis.runtime.pool import Task
from chassis.telemetry import tracing
from contracts.errors import PLATFORM_OUTCOME_UNKNOWN
from contracts.platforms import DAY_SECONDS
from publishing import post_events
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
from publishing.sending.context import SendingContext
from publishing.sending.delivery import AGAIN, await_final_id, content_of, published_outcome, refused
from publishing.sending.reconciliation_waits import wait_after_failure, wait_before_next_look_up
from publishing.store.pages import Pages
from publishing.store.reconciliation import Reconciliation, UnknownOutcome
from publishing.store.sending import AttemptOutcome, Claim, Sending

log = structlog.get_logger()

#: After a day of look-ups the post fails and is not sent again, because no post is sent more than a day late.
GIVE_UP_SECONDS = DAY_SECONDS


def look_up_posts(app: SendingContext) -> int:
    """Claims posts whose look-up is due and starts the look-ups. Returns how many it claimed."""
    return app.side.fill("look-ups", partial(_claim, app))


def _claim(app: SendingContext, places: int) -> list[Task]:
    with app.outcomes.claiming() as (connection, note):
        found = Reconciliation(connection).claim_unknown(places, app.lease.lock(connection))
        note(*(Claim(unknown.post.id, unknown.post.fence) for unknown in found))
        pages = Pages(connection).many([unknown.post.page_id for unknown in found])
        return [partial(look_up, app, pages[unknown.post.page_id], unknown) for unknown in found]


def look_up(app: SendingContext, page: PageRow, unknown: UnknownOutcome) -> None:
    """Looks up one post on its platform and stores the outcome, or when to look again."""
    claim = Claim(unknown.post.id, unknown.post.fence)
    try:
        named = {"post_id": unknown.post.id, "platform": unknown.post.platform}
        with tracing.working(
            "look up post", unknown.post.traceparent, "publishing", unknown.post.account_id, **named
        ):
            _settle(app, page, unknown)
    finally:
        app.outcomes.let_go(claim)


def _settle(app: SendingContext, page: PageRow, unknown: UnknownOutcome) -> None:
    outcome = _ask(app, page, unknown)
    if isinstance(outcome, Published):
        await_final_id(app, unknown.post, outcome)
    with app.database.transaction() as connection:
        store = Reconciliation(connection)
        if isinstance(outcome, Published):
            store.lock_conclusions(page)
            outcome = _own_post(store, unknown, outcome) or StillUnknown()
        record = conclude(app, unknown, outcome)
        ended = Sending(connection).record([record])
        if Checkpoint(unknown.post.checkpoint or {}).restored_at is not None:
            store.doubt_first_comments([post.id for post in ended], unknown.began_at)
        post_events.stage_ended(connection, ended)
    log.info("outcome_looked_up", post_id=unknown.post.id, state=record.state)


def _own_post(store: Reconciliation, unknown: UnknownOutcome, found: Published) -> Published | None:
    """Returns the post on the platform that this attempt made; None while every candidate may be another post of
    ours."""
    candidates = found.guess.candidates if found.guess else (found,)
    taken = store.taken(unknown.post, [one.remote_id for one in candidates])
    others = store.open_others(unknown) if found.guess else []
    return own_post(unknown.post, found, taken, others)


def conclude(app: SendingContext, unknown: UnknownOutcome, outcome: Outcome) -> AttemptOutcome:
    """Returns the outcome to store for an attempt, given the outcome of its look-up."""
    post = unknown.post
    if isinstance(outcome, Published):
        return published_outcome(post, outcome, looked_up=True)
    if isinstance(outcome, NotPublished):
        settled = outcome.settled or unknown.unknown_seconds >= app.settings.reconcile_settle_seconds
        if settled:
            record = refused(post, outcome.refusal or _NOT_KEPT, "not_published")
            # The wait for the next attempt counts from this attempt, not from now.
            return replace(record, wait_seconds=max(record.wait_seconds - unknown.unknown_seconds, 0.0))
    if unknown.unknown_seconds >= GIVE_UP_SECONDS:
        return AttemptOutcome(
            id=post.id,
            fence=post.fence,
            state="failed",
            outcome="given_up",
            error_code=PLATFORM_OUTCOME_UNKNOWN.code,
            error_message=_GIVEN_UP.format(again=AGAIN[post.origin]),
        )
    return _again(app, unknown, outcome.wait_seconds if isinstance(outcome, StillUnknown) else 0.0)


_GIVEN_UP = (
    "It could not be established whether the platform published the post. Look for it on the page; {again} only if it"
    " is not there."
)
_NOT_KEPT = PlatformRefusal(
    Refusal.TRANSIENT, "NOT_KEPT", "The platform took the request and published nothing."
)


def _ask(app: SendingContext, page: PageRow, unknown: UnknownOutcome) -> Outcome:
    """Returns the outcome of the attempt: asks the platform, unless its answer with a remote id is stored
    (`Checkpoint.answered`). If the look-up fails, the outcome stays unknown.
    """
    post = unknown.post
    checkpoint = Checkpoint(post.checkpoint or {})
    if checkpoint.answered is not None:
        return Published(checkpoint.answered, post.permalink)
    try:
        with app.database.reading() as connection:
            others = Reconciliation(connection).remote_ids_of_others(unknown)
        connector, account = app.connection_to(page)
        sources = tuple(MediaSource(type=item.type, url=item.src) for item in post.media)
        return connector.outcome(
            OpenAttempt(account, content_of(post, sources), checkpoint, unknown.began_at, others)
        )
    except Exception as problem:  # noqa: BLE001 - `wait_after_failure` logs it
        return StillUnknown(wait_after_failure(app, page, problem, unknown.unknown_seconds, post_id=post.id))


def _again(app: SendingContext, unknown: UnknownOutcome, least_seconds: float = 0.0) -> AttemptOutcome:
    wait = max(wait_before_next_look_up(app, unknown.unknown_seconds), least_seconds)
    return AttemptOutcome(
        id=unknown.post.id, fence=unknown.post.fence, state="unknown", outcome=None, wait_seconds=wait
    )
