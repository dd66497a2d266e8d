"""Shows jobs as clients see them."""

from ai.context import AppContext
from ai.credits import balances
from ai.records import Job
from ai.store.jobs import Jobs
from chassis.cursor import decode_position, one_page
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, ApiError
from contracts.media import Media, MediaId


def result(context: AppContext, caller: Caller, job: Job) -> api.AiResult:
    """Returns a job with the credits that it was charged and the account's present balance (docs/decisions.md, "GET
    /ai/jobs/{id} credits").
    """
    media = current_media(context, caller, job)
    with context.database.reading() as connection:
        now = balances.after_charge(connection, caller.account_id, caller.tier, job.credits_charged)
    return api.AiResult(job=job.view(), media=media, credits=now)


def show(context: AppContext, caller: Caller, request: api.JobId) -> api.AiResult:
    with context.database.reading() as connection:
        job = Jobs(connection).get(caller.account_id, request.id, caller.brand_ids)
    if job is None:
        raise ApiError(NOT_FOUND)
    return result(context, caller, job)


def current_media(context: AppContext, caller: Caller, job: Job) -> Media | None:
    """Returns the job's file as it is now; None if it has none, or if the file was deleted."""
    if job.media is None:
        return None
    try:
        media = context.media.get_media(caller, MediaId(id=job.media.media_id))
    except ApiError as error:
        if error.row is NOT_FOUND:
            return None
        raise
    return media


def show_list(context: AppContext, caller: Caller, request: api.ListJobs) -> api.JobList:
    """Returns one page of the caller's jobs (no captions), newest first, and the account's remaining credits."""
    with context.database.reading() as connection:
        found = Jobs(connection).newest(
            caller.account_id,
            brand_ids=caller.brand_ids,
            kind=request.kind,
            status=request.status,
            before=decode_position(request.cursor),
            limit=request.limit + 1,
        )
        now = balances.after_charge(connection, caller.account_id, caller.tier, 0)
    shown, cursor = one_page(found, request.limit)
    return api.JobList(
        jobs=tuple(job.view() for job in shown), next_cursor=cursor, credits_remaining=now.remaining
    )
