"""Decides when an unknown outcome is looked up next: the same for posts, replies and first comments."""

import structlog

from publishing.context import AppContext
from publishing.pages.refusals import note_refusal, rest_seconds
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.records import PageRow
from publishing.rules.retries import RAREST_LOOK_SECONDS, wait_before_look

log = structlog.get_logger()


def wait_before_next_look_up(app: AppContext, unknown_seconds: float) -> float:
    """Returns the seconds until the next look-up of an outcome that has been unknown for `unknown_seconds`."""
    settings = app.settings
    return wait_before_look(
        unknown_seconds, settings.reconcile_first_seconds, settings.reconcile_settle_seconds
    )


def wait_after_failure(
    app: AppContext, page: PageRow, problem: Exception, unknown_seconds: float, **named: str
) -> float:
    """Stores what a failed look-up says about the page (expired, rate-limited), logs it with the ids `named`, and
    returns the seconds until the next look-up."""
    wait = wait_before_next_look_up(app, unknown_seconds)
    if isinstance(problem, PlatformRefusal):
        log.warning("look_failed", page_id=page.id, reason=str(problem), **named)
        refusal = note_refusal(app, page, problem)
        return max(wait, _least(refusal, is_late=unknown_seconds >= app.settings.reconcile_settle_seconds))
    if isinstance(problem, NotConnected):
        log.warning("look_failed", page_id=page.id, reason=str(problem), **named)
    else:
        log.error("look_failed_unforeseen", page_id=page.id, exc_info=problem, **named)
    return wait


def _least(refusal: PlatformRefusal, *, is_late: bool) -> float:
    """Returns how many seconds to wait at least after a refused look-up.

    If the platform limits the rate, this is as long as the platform asks. If only the page's owner can help and the
    settle time has passed (`is_late`), it is an hour. Otherwise it is 0.
    """
    if refusal.kind is Refusal.RATE_LIMITED:
        return rest_seconds(refusal)
    needs_owner = refusal.kind in (Refusal.EXPIRED, Refusal.PERMISSION)
    return RAREST_LOOK_SECONDS if needs_owner and is_late else 0.0
