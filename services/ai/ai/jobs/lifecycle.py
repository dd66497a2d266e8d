"""Begins and ends jobs: a job begins with its charge and, if it fails, ends with a refund."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import structlog

from ai import metrics
from ai.context import AppContext
from ai.credits import balances
from ai.records import VIDEO, Claim, Job
from ai.rules.prices import COST_OF
from ai.store import Connection
from ai.store.jobs import Jobs
from chassis.bus.outbox import Staging, stage_all
from chassis.db import operations
from chassis.ids import new_id
from chassis.telemetry import tracing
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import (
    AI_GENERATION_FAILED,
    BRAND_NOT_AUTHORIZED,
    ERRORS,
    IDEMPOTENCY_IN_PROGRESS,
    INSUFFICIENT_CREDITS,
    PLAN_REQUIRED,
    SERVICE_UNAVAILABLE,
    ApiError,
    ErrorRow,
)
from contracts.events import JobCompleted, JobFailed
from contracts.media import Media

T = TypeVar("T")
log = structlog.get_logger()

#: How long to wait before an outcome is written again while the database is unavailable: its return is noticed soon.
_RETRY_PAUSE_SECONDS = 0.5
#: When a client may repeat a call that is still running: captions take some seconds.
_RETRY_AFTER_SECONDS = 3


def job_of_earlier_call(context: AppContext, caller: Caller) -> Job | None:
    """Returns the job of an earlier call of this operation: a finished image or caption, or a video in any state.
    Returns None if no earlier call made a job.

    Raises the error of an image or caption that failed, and IDEMPOTENCY_IN_PROGRESS while one is still being made.
    """
    with context.database.reading() as connection:
        job = Jobs(connection).by_operation(caller.account_id, caller.operation_id)
    return None if job is None else _finished_job(job)


def once(context: AppContext, caller: Caller, work: Callable[[], T], show: Callable[[Job], T]) -> T:
    """Runs `work`, which begins a job, only the first time for an operation, and returns its result. If an earlier call
    of the operation has made a job, returns `show` of that job.

    When a try of the operation is refused, its earlier tries can no longer begin or charge a job. Raises the errors of
    `work` and of `job_of_earlier_call`.
    """
    if (earlier := job_of_earlier_call(context, caller)) is not None:
        return show(earlier)

    def again(_job_id: str) -> T | None:
        job = job_of_earlier_call(context, caller)
        return None if job is None else show(job)

    return operations.once(context.database, caller, work, again)


def _finished_job(job: Job) -> Job:
    if job.state == "failed" and job.kind != VIDEO:
        raise failure(job)
    if job.state == "processing" and job.kind != VIDEO:
        raise ApiError(IDEMPOTENCY_IN_PROGRESS, retry_after_seconds=_RETRY_AFTER_SECONDS, job_id=job.id)
    return job


def check_elite(context: AppContext, caller: Caller) -> None:
    """Raises PLAN_REQUIRED unless the account's plan is Elite (spec "Errors": pro images and videos)."""
    if caller.tier != "elite":
        raise ApiError(PLAN_REQUIRED, upgrade_url=context.settings.upgrade_url)


def check_brand(caller: Caller, brand_id: str | None) -> None:
    """Raises BRAND_NOT_AUTHORIZED unless the caller may use the brand. The gateway has checked that the account owns
    it."""
    if brand_id is not None and not caller.reaches(brand_id):
        raise ApiError(BRAND_NOT_AUTHORIZED)


def check_credits(context: AppContext, caller: Caller, kind: str) -> None:
    """Checks before any costly work that the balance suffices. Raises INSUFFICIENT_CREDITS if it does not."""
    with _refill_after_refusal(context, caller), context.database.reading() as connection:
        balances.check(connection, context.settings.credits, caller, COST_OF[kind])


@contextmanager
def _refill_after_refusal(context: AppContext, caller: Caller) -> Iterator[None]:
    """Marks the account for auto-refill when the block raises INSUFFICIENT_CREDITS. Raises the error again."""
    try:
        yield
    except ApiError as error:
        if error.row is INSUFFICIENT_CREDITS:
            with suppress(ApiError), context.database.transaction() as connection:
                balances.mark_refill_after_refusal(connection, caller)
        raise


def begin(
    context: AppContext,
    caller: Caller,
    kind: str,
    *,
    brand_id: str | None = None,
    lease_seconds: float,
    **values: Any,
) -> tuple[Job, api.CreditsAfterCharge]:
    """Creates a job and charges it, in one transaction. Returns the job, and the charge with the balance after it.

    `values`: further columns of the job. Raises INSUFFICIENT_CREDITS if the balance is too low, `operations.Done` if
    another try of the operation has made the job, and IDEMPOTENCY_IN_PROGRESS if this try was voided because a later
    one was refused.
    """
    reach = caller.brand_ids
    row = {
        "id": new_id("job"),
        "operation_id": caller.operation_id or new_id("op"),
        "account_id": caller.account_id,
        "user_id": caller.user_id,
        "tier": caller.tier,
        "token_brand_ids": None if reach is None else list(reach),
        "brand_id": brand_id or (reach[0] if reach and len(reach) == 1 else None),
        "kind": kind,
        "credits": COST_OF[kind],
        "traceparent": tracing.traceparent() or None,
        **values,
    }
    with _refill_after_refusal(context, caller), context.database.transaction() as connection:
        operations.Operations(connection).begin(caller, row["id"])
        job = Jobs(connection).add(row, lease_seconds)
        charged = balances.charge(
            connection,
            context.settings.credits,
            caller,
            operation_id=job.operation_id,
            job_id=job.id,
            credits=row["credits"],
            action=kind,
        )
    metrics.SPENT.add(job.credits, {"action": kind})
    return job, charged


def complete(
    context: AppContext, claim: Claim, *, media: Media | None = None, caption: str | None = None
) -> Job | None:
    """Marks a claimed job as completed, and stages the event if it is a video. Returns the job; None if the job has
    ended or another worker has claimed it.

    Raises SERVICE_UNAVAILABLE when the database is down for longer than a claim lasts.
    """

    def write(connection: Connection) -> Job | None:
        store = Jobs(connection)
        job = store.complete(claim, media=media, caption=caption)
        if job is None:  # this claim may have completed it before, and the answer was lost
            return store.completed_by(claim)
        if job.kind == VIDEO and job.media is not None:
            done = JobCompleted(
                user_id=job.account_id, brand_id=job.brand_id, job=job.view(), media=job.media
            )
            _stage_event(connection, "ai.job.completed", done, job)
        return job

    return persist(context, write)


def fail(context: AppContext, claim: Claim, error: str, row: ErrorRow = AI_GENERATION_FAILED) -> Job | None:
    """Marks a claimed job as failed, refunds it, and stages the event if it is a video. Returns the job; None if the
    job has ended or another worker has claimed it.

    Raises SERVICE_UNAVAILABLE when the database is down for longer than a claim lasts.
    """
    return note_failure(
        persist(
            context,
            lambda connection: refund_failed_job(connection, Jobs(connection).fail(claim, row.code, error)),
        )
    )


def fail_with_error(
    context: AppContext, job: Job, reason: str, row: ErrorRow = AI_GENERATION_FAILED
) -> ApiError:
    """Marks a job as failed, refunds it, and returns the error for the client. If the database is down, the worker loop
    of `lost_jobs.fail_lost` does this later.
    """
    try:
        failed = fail(context, job.claim, reason, row)
    except ApiError as error:
        return error
    return ApiError(AI_GENERATION_FAILED, job_id=job.id) if failed is None else failure(failed)


def refund_failed_job(connection: Connection, job: Job | None) -> Job | None:
    """Refunds a job that has just failed. For a video, also stages the event `ai.job.failed`.

    Call it in the transaction that stored the failure. Returns the job; does nothing if `job` is None.
    """
    if job is None:
        return None
    balances.refund(connection, job.operation_id)
    if job.kind == VIDEO:
        failed = JobFailed(user_id=job.account_id, brand_id=job.brand_id, job=job.view())
        _stage_event(connection, "ai.job.failed", failed, job)
    return job


def note_failure(failed: Job | None) -> Job | None:
    """Logs a failed job with its reason, and counts its refund in metrics. Call it after the commit. Returns the job;
    does nothing if `failed` is None.
    """
    if failed is not None:
        log.warning("job_failed", job_id=failed.id, kind=failed.kind, reason=failed.error)
        metrics.REFUNDED.add(failed.credits, {"action": failed.kind})
    return failed


def _stage_event(connection: Connection, event: str, data: JobCompleted | JobFailed, job: Job) -> None:
    """Stages an event about a job. The event belongs to the trace of the step that ended the job or, without such a
    trace, to the trace of the client's request.
    """
    cause = tracing.traceparent() or job.traceparent or ""
    staging = Staging(event, data, job.account_id, job.brand_id, cause, job.token_brand_ids)
    stage_all(connection, [staging])


def persist(context: AppContext, write: Callable[[Connection], T]) -> T:
    """Runs `write` in a transaction and returns its result. While the database is down, tries again for as long as a
    claim lasts; then raises SERVICE_UNAVAILABLE.
    """
    give_up_at = time.monotonic() + context.settings.lease_seconds
    while True:
        try:
            with context.database.transaction() as connection:
                return write(connection)
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                raise
        time.sleep(_RETRY_PAUSE_SECONDS)


def failure(job: Job) -> ApiError:
    """Returns the client's error for a failed job. A repeated call gets the same error."""
    row = ERRORS.get(job.error_code or "", AI_GENERATION_FAILED)
    return ApiError(row, job_id=job.id, reason=job.error)
