"""How a job begins and ends: its charge with its row, its refund with its failure.

What is done in between is `images.py`, `captions.py` and `filming.py`; who was left alone is `recovery.py`; what
clients see of it is `listing.py`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ai import measures
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

#: While the database is away an outcome is written again after this long. Our choice.
_PAUSE_SECONDS = 0.5
#: When a call that is still running may be asked for again. Our choice.
_COME_AGAIN_SECONDS = 3


def repeated(context: AppContext, caller: Caller) -> Job | None:
    """What this operation has made already. Raises what it was refused with, IDEMPOTENCY_IN_PROGRESS while it runs.

    A video counts as made once it has begun.
    """
    with context.database.reading() as connection:
        job = Jobs(connection).of_operation(caller.account_id, caller.operation_id)
    return None if job is None else _settled(job)


def once(context: AppContext, caller: Caller, work: Callable[[], T], show: Callable[[Job], T]) -> T:
    """What `work` returns, or what `show` makes of the job that the operation has made already.

    Once a try was refused no earlier one begins a job, and none is charged. Raises what `work` and `repeated` do.
    """
    if (earlier := repeated(context, caller)) is not None:
        return show(earlier)

    def again(_job_id: str) -> T | None:
        job = repeated(context, caller)
        return None if job is None else show(job)

    return operations.once(context.database, caller, work, again)


def _settled(job: Job) -> Job:
    if job.state == "failed" and job.kind != VIDEO:
        raise failure(job)
    if job.state == "processing" and job.kind != VIDEO:
        raise ApiError(IDEMPOTENCY_IN_PROGRESS, retry_after_seconds=_COME_AGAIN_SECONDS, job_id=job.id)
    return job


def check_elite(context: AppContext, caller: Caller) -> None:
    """Spec "Errors": pro images and videos. Raises PLAN_REQUIRED."""
    if caller.tier != "elite":
        raise ApiError(PLAN_REQUIRED, upgrade_url=context.settings.upgrade_url)


def check_brand(caller: Caller, brand_id: str | None) -> None:
    """The gateway knows whose brand it is. Raises BRAND_NOT_AUTHORIZED."""
    if brand_id is not None and not caller.reaches(brand_id):
        raise ApiError(BRAND_NOT_AUTHORIZED)


def check_credits(context: AppContext, caller: Caller, kind: str) -> None:
    """Before anything costly is done for who cannot pay for it. Raises INSUFFICIENT_CREDITS."""
    with _heard(context, caller), context.database.reading() as connection:
        balances.check(connection, context.settings.credits, caller, COST_OF[kind])


@contextmanager
def _heard(context: AppContext, caller: Caller) -> Iterator[None]:
    """Auto-refill hears of a call that was refused for want of credits."""
    try:
        yield
    except ApiError as error:
        if error.row is INSUFFICIENT_CREDITS:
            with suppress(ApiError), context.database.transaction() as connection:
                balances.refused(connection, caller)
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
    """The job and its charge in one transaction. Raises INSUFFICIENT_CREDITS, Done, and IDEMPOTENCY_IN_PROGRESS for a
    voided try.
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
    with _heard(context, caller), context.database.transaction() as connection:
        operations.Operations(connection).begin(caller, row["id"])
        job = Jobs(connection).add(row, lease_seconds)
        if job is None:  # by a process of the release before this one, at the same moment
            raise operations.Done(row["id"])
        charged = balances.charge(
            connection,
            context.settings.credits,
            caller,
            operation_id=job.operation_id,
            job_id=job.id,
            credits=row["credits"],
            action=kind,
        )
    measures.SPENT.add(job.credits, {"action": kind})
    return job, charged


def complete(
    context: AppContext, claim: Claim, *, media: Media | None = None, caption: str | None = None
) -> Job | None:
    """The job's end, with its event. None when it has ended otherwise. Raises SERVICE_UNAVAILABLE."""

    def write(connection: Connection) -> Job | None:
        store = Jobs(connection)
        job = store.complete(claim, media=media, caption=caption)
        if job is None:  # unless an earlier try was committed although its answer was lost
            return store.completed_by(claim)
        if job.kind == VIDEO and job.media is not None:
            done = JobCompleted(
                user_id=job.account_id, brand_id=job.brand_id, job=job.view(), media=job.media
            )
            _tell(connection, "ai.job.completed", done, job)
        return job

    return persist(context, write)


def fail(context: AppContext, claim: Claim, error: str, row: ErrorRow = AI_GENERATION_FAILED) -> Job | None:
    """The job's end, with its refund and event. None when it has ended otherwise. Raises SERVICE_UNAVAILABLE."""
    return counted(
        persist(
            context, lambda connection: refunded(connection, Jobs(connection).fail(claim, row.code, error))
        )
    )


def give_up(context: AppContext, job: Job, reason: str, row: ErrorRow = AI_GENERATION_FAILED) -> ApiError:
    """Fails the job; the error to be raised to its client. Who cannot write it leaves it to `recovery.py`."""
    try:
        failed = fail(context, job.claim, reason, row)
    except ApiError as error:
        return error
    return ApiError(AI_GENERATION_FAILED, job_id=job.id) if failed is None else failure(failed)


def refunded(connection: Connection, job: Job | None) -> Job | None:
    """Gives back what a job that has just failed had cost, and tells of it, in the transaction of the failure."""
    if job is None:
        return None
    balances.refund(connection, job.operation_id)
    if job.kind == VIDEO:
        failed = JobFailed(user_id=job.account_id, brand_id=job.brand_id, job=job.view())
        _tell(connection, "ai.job.failed", failed, job)
    return job


def counted(failed: Job | None) -> Job | None:
    """A job that has been refunded, once its transaction is over."""
    if failed is not None:
        measures.REFUNDED.add(failed.credits, {"action": failed.kind})
    return failed


def _tell(connection: Connection, event: str, data: JobCompleted | JobFailed, job: Job) -> None:
    """Its cause is the step that ended the job; where there was none (nobody was left), the job's own request."""
    cause = tracing.traceparent() or job.traceparent or ""
    staging = Staging(event, data, job.account_id, job.brand_id, cause, job.token_brand_ids)
    stage_all(connection, [staging])


def persist(context: AppContext, write: Callable[[Connection], T]) -> T:
    """Writes an outcome in a transaction of its own; while the database is away it waits, as long as a claim lasts."""
    give_up_at = time.monotonic() + context.settings.lease_seconds
    while True:
        try:
            with context.database.transaction() as connection:
                return write(connection)
        except ApiError as error:
            if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                raise
        time.sleep(_PAUSE_SECONDS)


def failure(job: Job) -> ApiError:
    """What a failed job is refused with, now and whenever its operation is repeated."""
    row = ERRORS.get(job.error_code or "", AI_GENERATION_FAILED)
    return ApiError(row, job_id=job.id, reason=job.error)
