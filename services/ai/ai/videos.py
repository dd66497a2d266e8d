"""A video asked for: checked and charged, then left to `filming.py`."""

from functools import partial

from ai import jobs, keeping, listing, references
from ai.house import House
from ai.images import one_source, told
from ai.prices import VIDEO
from ai.providers.base import VIDEOS
from chassis.runtime.loops import wake
from contracts import ai as api
from contracts.caller import Caller


def generate(house: House, caller: Caller, request: api.GenerateVideo) -> api.AiResult:
    """Raises PLAN_REQUIRED, AI_NOT_CONFIGURED, VALIDATION_ERROR, INVALID_REFERENCE_MEDIA, QUOTA_EXCEEDED,
    INSUFFICIENT_CREDITS.
    """
    work = partial(_generate, house, caller, request)
    return jobs.once(house, caller, work, partial(listing.result, house, caller))


def _generate(house: House, caller: Caller, request: api.GenerateVideo) -> api.AiResult:
    jobs.check_elite(house, caller)
    provider = house.provider(VIDEOS)
    jobs.check_brand(caller, request.brand_id)
    jobs.check_credits(house, caller, VIDEO)
    # Looked at now, so that a bad one is refused, and fetched again when the provider is asked: no bytes are kept.
    sources = one_source(request.image_url, request.media_id, required=False)
    with references.collected(house, caller, **sources):
        pass
    keeping.check_room(house, caller, keeping.VIDEO_BYTES)
    job, charged = jobs.begin(
        house,
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
