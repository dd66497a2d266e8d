"""A video asked for: checked and charged, then left to `filming.py`."""

from functools import partial

from ai.context import AppContext
from ai.jobs import generated_files, lifecycle, references, views
from ai.jobs.images import one_source, told
from ai.providers.base import VIDEOS
from ai.rules.prices import VIDEO
from chassis.runtime.loops import wake
from contracts import ai as api
from contracts.caller import Caller


def generate(context: AppContext, caller: Caller, request: api.GenerateVideo) -> api.AiResult:
    """Raises PLAN_REQUIRED, AI_NOT_CONFIGURED, VALIDATION_ERROR, INVALID_REFERENCE_MEDIA, QUOTA_EXCEEDED,
    INSUFFICIENT_CREDITS.
    """
    work = partial(_generate, context, caller, request)
    return lifecycle.once(context, caller, work, partial(views.result, context, caller))


def _generate(context: AppContext, caller: Caller, request: api.GenerateVideo) -> api.AiResult:
    lifecycle.check_elite(context, caller)
    provider = context.provider(VIDEOS)
    lifecycle.check_brand(caller, request.brand_id)
    lifecycle.check_credits(context, caller, VIDEO)
    # Looked at now, so that a bad one is refused, and fetched again when the provider is asked: no bytes are kept.
    sources = one_source(request.image_url, request.media_id, required=False)
    with references.collected(context, caller, **sources):
        pass
    generated_files.check_room(context, caller, generated_files.VIDEO_BYTES)
    job, charged = lifecycle.begin(
        context,
        caller,
        VIDEO,
        brand_id=request.brand_id,
        lease_seconds=0,  # due at once, for any worker
        prompt=request.prompt,
        brief=told(request.prompt, request.guidelines),
        aspect_ratio=request.aspect_ratio,
        source_url=request.image_url,
        source_media_id=request.media_id,
        provider=provider.name,
    )
    wake("make_videos")
    return api.AiResult(job=job.view(), media=None, credits=charged)
