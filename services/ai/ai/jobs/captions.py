"""Writes captions of about the requested length. A caption is charged, and refunded if it fails; its text is kept, so
that a repeated call gets it again.
"""

import time
from functools import partial

import structlog

from ai.context import AppContext
from ai.credits import balances
from ai.jobs import lifecycle
from ai.providers.base import CAPTIONS, GenerationFailed, Provider
from ai.records import Job
from ai.rules import caption_text
from ai.rules.prices import CAPTION
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import AI_GENERATION_FAILED, ApiError

log = structlog.get_logger()


def write(context: AppContext, caller: Caller, request: api.WriteCaption) -> api.Caption:
    """Writes a caption.

    Raises AI_NOT_CONFIGURED if there is no provider, BRAND_NOT_AUTHORIZED for a brand that the token may not use,
    INSUFFICIENT_CREDITS if the balance is too low, AI_GENERATION_FAILED if the provider fails, and
    IDEMPOTENCY_IN_PROGRESS while the same operation runs.
    """
    deadline = time.monotonic() + context.settings.caption_seconds
    work = partial(_write, context, caller, request, deadline)
    return lifecycle.once(context, caller, work, partial(_repeat, context, caller, request))


def _write(context: AppContext, caller: Caller, request: api.WriteCaption, deadline: float) -> api.Caption:
    provider = context.provider(CAPTIONS)
    lifecycle.check_brand(caller, request.brand_id)
    brief = brief_of(request)
    job, charged = lifecycle.begin(
        context,
        caller,
        CAPTION,
        brand_id=request.brand_id,
        lease_seconds=context.settings.lease_seconds,
        prompt=request.instruction,
        brief=brief,
        provider=provider.name,
    )
    with context.hold_claim(job.claim, deadline):
        try:
            with context.provider_slot(wait_seconds=deadline - time.monotonic()):
                text = compose(provider, brief, request, deadline)
        except GenerationFailed as error:
            raise lifecycle.fail_with_error(context, job, error.reason) from error
        except Exception as error:
            log.exception("caption_failed", job_id=job.id)
            raise lifecycle.fail_with_error(context, job, "Something went wrong on our side.") from error
        done = lifecycle.complete(context, job.claim, caption=text)
    if done is None:  # failed and refunded by `lost_jobs` meanwhile
        raise ApiError(AI_GENERATION_FAILED, job_id=job.id)
    return _caption(request, text, charged)


def brief_of(request: api.WriteCaption) -> str:
    """Returns the system prompt for a caption. The request's `custom_instructions` replace the brand's guidelines."""
    low, high = caption_text.bounds(request.words)
    lines = [
        f"You write captions for social media posts of the brand {request.brand_name}.",
        f"About the brand: {request.brand_description}" if request.brand_description else "",
        _style(request),
        f"Length: {request.words} words, no fewer than {low} and no more than {high}.",
        "Answer with the caption alone: no title, no quotation marks, no remarks, whole sentences.",
    ]
    return "\n".join(line for line in lines if line)


def compose(provider: Provider, brief: str, request: api.WriteCaption, deadline: float) -> str:
    """Asks the provider for a text, and cuts it to about the requested length. If no beginning of the text has the
    right length, asks once more. Raises GenerationFailed if the provider fails, or if the second text does not fit
    either.
    """
    asked = request.instruction
    if request.edit_text:
        asked = f"{asked}\n\nRewrite this text:\n{request.edit_text}"
    first = caption_text.tidied(provider.caption(brief, (asked,), deadline=deadline))
    if (text := caption_text.cut_to_fit(first, request.words)) is not None:
        return text
    more = f"Write it again in {request.words} words: it has {caption_text.count(first)}."
    second = caption_text.tidied(provider.caption(brief, (asked, first, more), deadline=deadline))
    text = caption_text.cut_to_fit(second, request.words)
    if text is None:
        counted = f"{caption_text.count(first)} and then {caption_text.count(second)} words"
        raise GenerationFailed(f"The AI provider wrote {counted} instead of {request.words}.")
    return text


def _style(request: api.WriteCaption) -> str:
    if request.custom_instructions:
        return f"Follow these instructions: {request.custom_instructions}"
    return f"Follow the brand's guidelines: {request.guidelines}" if request.guidelines else ""


def _repeat(context: AppContext, caller: Caller, request: api.WriteCaption, job: Job) -> api.Caption:
    with context.database.reading() as connection:
        now = balances.after_charge(connection, caller.account_id, caller.tier, job.credits_charged)
    return _caption(request, job.caption or "", now)


def _caption(request: api.WriteCaption, text: str, now: api.CreditsAfterCharge) -> api.Caption:
    return api.Caption(text=text, brand_id=request.brand_id, words_requested=request.words, credits=now)
