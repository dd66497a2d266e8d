"""Captions: charged, written in about as many words as asked for, kept for repeated calls; or refunded."""

import time
from functools import partial

import structlog

from ai import credits as ledger
from ai import jobs, wording
from ai.house import House
from ai.prices import CAPTION
from ai.providers.base import CAPTIONS, GenerationFailed, Provider
from ai.records import Job
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import AI_GENERATION_FAILED, ApiError

log = structlog.get_logger()


def write(house: House, caller: Caller, request: api.WriteCaption) -> api.Caption:
    """Raises AI_NOT_CONFIGURED, INSUFFICIENT_CREDITS, AI_GENERATION_FAILED; IDEMPOTENCY_IN_PROGRESS while it runs."""
    deadline = time.monotonic() + house.settings.caption_seconds
    work = partial(_write, house, caller, request, deadline)
    return jobs.once(house, caller, work, partial(_again, house, caller, request))


def _write(house: House, caller: Caller, request: api.WriteCaption, deadline: float) -> api.Caption:
    provider = house.provider(CAPTIONS)
    jobs.check_brand(caller, request.brand_id)
    brief = brief_of(request)
    job, charged = jobs.begin(
        house,
        caller,
        CAPTION,
        brand_id=request.brand_id,
        lease_seconds=house.settings.lease_seconds,
        prompt=request.instruction,
        brief=brief,
        provider=provider.name,
    )
    with house.holding(job.claim, deadline):
        try:
            with house.turn(deadline):
                text = compose(provider, brief, request, deadline)
        except GenerationFailed as error:
            raise jobs.give_up(house, job, error.reason) from error
        except Exception as error:
            log.exception("caption_failed", job_id=job.id)
            raise jobs.give_up(house, job, "Something went wrong on our side.") from error
        done = jobs.complete(house, job.claim, caption=text)
    if done is None:  # given up as lost and refunded meanwhile
        raise ApiError(AI_GENERATION_FAILED, job_id=job.id)
    return _caption(request, text, charged)


def brief_of(request: api.WriteCaption) -> str:
    """Who writes, how and for whom. custom_instructions take the place of the brand's guidelines (spec)."""
    low, high = wording.bounds(request.words)
    lines = [
        f"You write captions for social media posts of the brand {request.brand_name}.",
        f"About the brand: {request.brand_description}" if request.brand_description else "",
        _manner(request),
        f"Length: {request.words} words, no fewer than {low} and no more than {high}.",
        "Answer with the caption alone: no title, no quotation marks, no remarks, whole sentences.",
    ]
    return "\n".join(line for line in lines if line)


def compose(provider: Provider, brief: str, request: api.WriteCaption, deadline: float) -> str:
    """A text of about as many words as asked for; asked for once more if need be. Raises GenerationFailed."""
    asked = request.instruction
    if request.edit_text:
        asked = f"{asked}\n\nRewrite this text:\n{request.edit_text}"
    first = wording.tidied(provider.caption(brief, (asked,), deadline=deadline))
    if (text := wording.cut_to_fit(first, request.words)) is not None:
        return text
    more = f"Write it again in {request.words} words: it has {wording.count(first)}."
    second = wording.tidied(provider.caption(brief, (asked, first, more), deadline=deadline))
    text = wording.cut_to_fit(second, request.words)
    if text is None:
        counted = f"{wording.count(first)} and then {wording.count(second)} words"
        raise GenerationFailed(f"The AI provider wrote {counted} where {request.words} were asked for.")
    return text


def _manner(request: api.WriteCaption) -> str:
    if request.custom_instructions:
        return f"Follow these instructions: {request.custom_instructions}"
    return f"Follow the brand's guidelines: {request.guidelines}" if request.guidelines else ""


def _again(house: House, caller: Caller, request: api.WriteCaption, job: Job) -> api.Caption:
    with house.database.reading() as connection:
        now = ledger.after_charge(connection, caller.account_id, caller.tier, job.credits_charged)
    return _caption(request, job.caption or "", now)


def _caption(request: api.WriteCaption, text: str, now: api.CreditsAfterCharge) -> api.Caption:
    return api.Caption(text=text, brand_id=request.brand_id, words_requested=request.words, credits=now)
