"""What looks at unknown outcomes have in common, of posts, replies and first comments: when the next one comes.

What is looked for, and what an answer means, is theirs.
"""

import structlog

from publishing.context import House
from publishing.pages.refusals import note_refusal, rest_seconds
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal
from publishing.records import PageRow
from publishing.rules.retries import RAREST_LOOK_SECONDS, wait_before_look

log = structlog.get_logger()


def next_look(house: House, unknown_seconds: float) -> float:
    """Seconds until the next look at an outcome that has been unknown for so long."""
    settings = house.settings
    return wait_before_look(
        unknown_seconds, settings.reconcile_first_seconds, settings.reconcile_settle_seconds
    )


def look_failed(
    house: House, page: PageRow, problem: Exception, unknown_seconds: float, **named: str
) -> float:
    """Seconds until the next look after one that came to nothing: it says nothing of the outcome, but of the page."""
    wait = next_look(house, unknown_seconds)
    if isinstance(problem, PlatformRefusal):
        log.warning("look_failed", page_id=page.id, reason=str(problem), **named)
        refusal = note_refusal(house, page, problem)
        return max(wait, _least(refusal, is_late=unknown_seconds >= house.settings.reconcile_settle_seconds))
    if isinstance(problem, NotConnected):
        log.warning("look_failed", page_id=page.id, reason=str(problem), **named)
    else:
        log.error("look_failed_unforeseen", page_id=page.id, exc_info=problem, **named)
    return wait


def _least(refusal: PlatformRefusal, *, is_late: bool) -> float:
    """As long as the platform asks for; past the settling time an hour where nothing but its page's owner can help."""
    if refusal.kind is Refusal.RATE_LIMITED:
        return rest_seconds(refusal)
    needs_owner = refusal.kind in (Refusal.EXPIRED, Refusal.PERMISSION)
    return RAREST_LOOK_SECONDS if needs_owner and is_late else 0.0
