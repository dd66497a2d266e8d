"""Pictures made and edited while the client waits: checked, charged, made, kept; or refunded."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog

from ai import jobs, keeping, listing, references
from ai.house import House
from ai.pictures import REFERENCE_TYPES, mime_type_of
from ai.prices import IMAGE, IMAGE_EDIT
from ai.providers.base import IMAGES, GenerationFailed, Picture
from ai.records import Job
from ai.store.jobs import Jobs
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import (
    AI_GENERATION_FAILED,
    FILE_TOO_LARGE,
    QUOTA_EXCEEDED,
    ApiError,
    ErrorRow,
    invalid,
)
from contracts.media import Media

log = structlog.get_logger()

#: What is left of an image call's time to keep the picture when the provider's is over. Our choice.
_KEEPING_SECONDS = 12.0


def generate(house: House, caller: Caller, request: api.GenerateImage) -> api.AiResult:
    """Raises VALIDATION_ERROR, PLAN_REQUIRED, AI_NOT_CONFIGURED, INVALID_REFERENCE_MEDIA, QUOTA_EXCEEDED,
    INSUFFICIENT_CREDITS and AI_GENERATION_FAILED; IDEMPOTENCY_IN_PROGRESS while the same operation runs;
    SERVICE_UNAVAILABLE.
    """
    work = partial(_generate, house, caller, request, time.monotonic() + house.settings.image_seconds)
    return jobs.once(house, caller, work, partial(listing.result, house, caller))


def _generate(house: House, caller: Caller, request: api.GenerateImage, deadline: float) -> api.AiResult:
    if len(request.reference_image_urls) + len(request.reference_media_ids) > api.MOST_REFERENCES:
        raise invalid("reference_media_ids", f"At most {api.MOST_REFERENCES} reference images in all")
    _check_plan(house, caller, request.model)
    provider = house.provider(IMAGES)
    jobs.check_brand(caller, request.brand_id)
    brief = told(request.prompt, request.guidelines)
    ratio = None if request.aspect_ratio == "default" else request.aspect_ratio
    jobs.check_credits(house, caller, IMAGE)
    with references.collected(
        house, caller, urls=request.reference_image_urls, media_ids=request.reference_media_ids
    ) as pictures:
        return _make(
            house,
            caller,
            IMAGE,
            deadline,
            lambda until: provider.image(
                brief, aspect_ratio=ratio, model=request.model, references=pictures, deadline=until
            ),
            brand_id=request.brand_id,
            prompt=request.prompt,
            brief=brief,
            model=request.model,
            aspect_ratio=request.aspect_ratio,
            provider=provider.name,
        )


def edit(house: House, caller: Caller, request: api.EditImage) -> api.AiResult:
    """Raises what `generate` does, and VALIDATION_ERROR unless there is exactly one picture to edit."""
    work = partial(_edit, house, caller, request, time.monotonic() + house.settings.image_seconds)
    return jobs.once(house, caller, work, partial(listing.result, house, caller))


def _edit(house: House, caller: Caller, request: api.EditImage, deadline: float) -> api.AiResult:
    _check_plan(house, caller, request.model)
    provider = house.provider(IMAGES)
    sources = one_source(request.image_url, request.media_id, required=True)
    jobs.check_credits(house, caller, IMAGE_EDIT)
    with references.collected(house, caller, **sources) as (source,):
        return _make(
            house,
            caller,
            IMAGE_EDIT,
            deadline,
            lambda until: provider.edit(request.prompt, source, model=request.model, deadline=until),
            prompt=request.prompt,
            brief=request.prompt,
            model=request.model,
            provider=provider.name,
        )


def one_source(image_url: str | None, media_id: str | None, *, required: bool) -> dict[str, Any]:
    """The one picture of an edit or a video, for `references.collected`. Raises VALIDATION_ERROR."""
    if image_url is not None and media_id is not None:
        raise invalid("media_id", "Send image_url or media_id, not both")
    if image_url is None and media_id is None and required:
        raise invalid("image_url", "Send image_url or media_id")
    return {
        "urls": () if image_url is None else (image_url,),
        "media_ids": () if media_id is None else (media_id,),
    }


def told(prompt: str, guidelines: str | None) -> str:
    """What the provider is told: the prompt, and the brand's guidelines where it has any."""
    return f"{prompt}\n\nFollow these brand guidelines: {guidelines}" if guidelines else prompt


def _check_plan(house: House, caller: Caller, model: str) -> None:
    if model == "pro":
        jobs.check_elite(house, caller)


def _make(
    house: House,
    caller: Caller,
    kind: str,
    deadline: float,
    make: Callable[[float], Picture],
    **values: Any,
) -> api.AiResult:
    keeping.check_room(house, caller, keeping.PICTURE_BYTES)
    job, charged = jobs.begin(house, caller, kind, lease_seconds=house.settings.lease_seconds, **values)
    with house.holding(job.claim, deadline):
        try:
            with house.turn(deadline - _KEEPING_SECONDS):
                picture = make(deadline - _KEEPING_SECONDS)
            media = _keep(house, job, picture)
        except GenerationFailed as error:
            raise jobs.give_up(house, job, error.reason) from error
        except keeping.OutcomeOpen:
            raise  # a worker asks media again when the claim lapses, and ends the job
        except ApiError as error:
            raise jobs.give_up(house, job, error.message, _refusal_of(error)) from error
        except Exception as error:
            log.exception("image_failed", job_id=job.id)
            raise jobs.give_up(house, job, "Something went wrong on our side.") from error
        done = jobs.complete(house, job.claim, media=media)
    if done is None:  # taken for lost meanwhile: refunded, or completed by a worker
        keeping.discard(house, job, media)
        if (ended := jobs.repeated(house, job.caller())) is None:
            raise ApiError(AI_GENERATION_FAILED, job_id=job.id)
        return listing.result(house, caller, ended)
    return api.AiResult(job=done.view(), media=media, credits=charged)


def _keep(house: House, job: Job, picture: Picture) -> Media:
    """Its type is what its bytes say, whatever the provider calls it."""
    mime_type = mime_type_of(picture.body)
    if mime_type not in REFERENCE_TYPES:
        raise GenerationFailed("The AI provider made something that is no picture.")
    size_bytes = len(picture.body)

    def note(upload_id: str) -> None:
        held = jobs.persist(
            house, lambda connection: Jobs(connection).uploaded(job.claim, upload_id, size_bytes)
        )
        if not held:  # refunded meanwhile: media is not told of the file
            raise GenerationFailed("It was not finished in time.")

    return keeping.keep(house, job, mime_type, size_bytes, (picture.body,), note)


def _refusal_of(error: ApiError) -> ErrorRow:
    """What a client is told when the file could not be kept."""
    return QUOTA_EXCEEDED if error.row in (QUOTA_EXCEEDED, FILE_TOO_LARGE) else AI_GENERATION_FAILED
