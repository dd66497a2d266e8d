"""Accepts a client's request for a video: checks and charges it. `video_steps.py` makes the video."""

from functools import partial

from ai.context import AppContext
from ai.jobs import generated_files, lifecycle, references, views
from ai.jobs.images import single_reference, with_guidelines
from ai.providers.base import VIDEOS
from ai.rules.prices import VIDEO
from chassis.runtime.loops import Waker
from contracts import ai as api
from contracts.caller import Caller

#: Wakes the loop that claims steps of videos.
VIDEOS_DUE = Waker()


def generate(context: AppContext, caller: Caller, request: api.GenerateVideo) -> api.AiResult:
    """Begins a video and returns its job.

    Raises VALIDATION_ERROR or INVALID_REFERENCE_MEDIA for an invalid request, BRAND_NOT_AUTHORIZED for a brand that the
    token may not use, and PLAN_REQUIRED, AI_NOT_CONFIGURED, QUOTA_EXCEEDED or INSUFFICIENT_CREDITS when the account may
    not make the video.
    """
    work = partial(_generate, context, caller, request)
    return lifecycle.once(context, caller, work, partial(views.result, context, caller))


def _generate(context: AppContext, caller: Caller, request: api.GenerateVideo) -> api.AiResult:
    lifecycle.check_elite(context, caller)
    provider = context.provider(VIDEOS)
    lifecycle.check_brand(caller, request.brand_id)
    lifecycle.check_credits(context, caller, VIDEO)
    # A bad reference is refused now. It is fetched again for the provider, so that no bytes are kept.
    sources = single_reference(request.image_url, request.media_id, required=False)
    with references.collected(context, caller, **sources):
        pass
    generated_files.check_quota(context, caller, generated_files.VIDEO_BYTES)
    job, charged = lifecycle.begin(
        context,
        caller,
        VIDEO,
        brand_id=request.brand_id,
        lease_seconds=0,  # due at once, for any worker
        prompt=request.prompt,
        brief=with_guidelines(request.prompt, request.guidelines),
        aspect_ratio=request.aspect_ratio,
        source_url=request.image_url,
        source_media_id=request.media_id,
        provider=provider.name,
    )
    VIDEOS_DUE.wake()
    return api.AiResult(job=job.view(), media=None, credits=charged)
