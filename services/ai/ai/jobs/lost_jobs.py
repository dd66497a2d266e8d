"""Fails and refunds jobs that no worker will end any more, and deletes old captions."""

import structlog

from ai.context import AppContext
from ai.jobs import lifecycle
from ai.store.jobs import Jobs
from contracts.errors import AI_GENERATION_FAILED

log = structlog.get_logger()

_BATCH = 50
#: Idempotency keys live 24 hours (spec); the other days are a margin for outages.
_CAPTION_DAYS = 7
_FORGET_BATCH = 1_000
_REASON = "The job did not finish in time."


def fail_lost(context: AppContext) -> int:
    """Marks a batch of lost jobs as failed and refunds them, each in a transaction of its own. Returns how many jobs
    failed.

    A job is lost if its process died and no other process can continue it, or if it has not ended within the time
    limit.
    """
    limit_seconds = context.settings.job_limit_seconds
    with context.database.reading() as connection:
        lost = Jobs(connection).lost(limit_seconds, _BATCH)
    count = 0
    for claim in lost:
        try:
            with context.database.transaction() as connection:
                failed = Jobs(connection).fail_lost(claim, AI_GENERATION_FAILED.code, _REASON, limit_seconds)
                lifecycle.refund_failed_job(connection, failed)
            count += lifecycle.note_failure(failed) is not None
        except Exception:  # one job that cannot be failed must not block the others
            log.exception("lost_job_not_failed", job_id=claim.id)
    if count:
        log.warning("lost_jobs_failed", count=count)
    return count


def forget_captions(context: AppContext) -> int:
    with context.database.transaction() as connection:
        return Jobs(connection).forget_captions(_CAPTION_DAYS, _FORGET_BATCH)
