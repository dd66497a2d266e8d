"""Jobs that nobody will end any more, failed and refunded; captions nobody will ask for again, forgotten."""

import structlog

from ai.context import AppContext
from ai.jobs import lifecycle
from ai.store.jobs import Jobs
from contracts.errors import AI_GENERATION_FAILED

log = structlog.get_logger()

_AT_ONCE = 50
#: Idempotency keys live 24 hours (spec); a caption's row some days more. Our choice.
_CAPTION_DAYS = 7
_FORGET_AT_ONCE = 1_000
_WHY = "It was not finished in time."


def fail_lost(context: AppContext) -> int:
    """One tick: jobs whose process died, and those that take longer than any may; how many were failed.

    Each in a transaction of its own: failed, refunded and told of, or none of it.
    """
    limit_seconds = context.settings.job_limit_seconds
    with context.database.reading() as connection:
        lost = Jobs(connection).lost(limit_seconds, _AT_ONCE)
    count = 0
    for claim in lost:
        try:
            with context.database.transaction() as connection:
                failed = Jobs(connection).fail_lost(claim, AI_GENERATION_FAILED.code, _WHY, limit_seconds)
                lifecycle.refunded(connection, failed)
            count += lifecycle.counted(failed) is not None
        except Exception:  # one that cannot be ended keeps no other waiting
            log.exception("lost_job_stays", job_id=claim.id)
    if count:
        log.warning("lost_jobs_failed", count=count)
    return count


def forget_captions(context: AppContext) -> int:
    with context.database.transaction() as connection:
        return Jobs(connection).forget_captions(_CAPTION_DAYS, _FORGET_AT_ONCE)
