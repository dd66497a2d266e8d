"""Pictures made and edited while the client waits: checked, charged, made, kept; or refunded."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog

from ai.context import AppContext
from ai.jobs import generated_files, lifecycle, references, views
from ai.providers.base import IMAGES, GenerationFailed, Picture
from ai.records import Job
from ai.rules.file_types import REFERENCE_TYPES, mime_type_of
from ai.rules.prices import IMAGE, IMAGE_EDIT
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


def generate(context: AppContext, caller: Caller, request: api.GenerateImage) -> api.AiResult:
    """Raises VALIDATION_ERROR, PLAN_REQUIRED, AI_NOT_CONFIGURED, INVALID_REFERENCE_MEDIA, QUOTA_EXCEEDED,
    INSUFFICIENT_CREDITS and AI_GENERATION_FAILED; IDEMPOTENCY_IN_PROGRESS while the same operation runs;
    SERVICE_UNAVAILABLE.
    """
    work = partial(_generate, context, caller, request, time.monotonic() + context.settings.image_seconds)
    return lifecycle.once(context, caller, work, partial(views.result, context, caller))


def _generate(
    context: AppContext, caller: Caller, request: api.GenerateImage, deadline: float
) -> api.AiResult:
    if len(request.reference_image_urls) + len(request.reference_media_ids) > api.MOST_REFERENCES:
        raise invalid("reference_media_ids", f"At most {api.MOST_REFERENCES} reference images in all")
    _check_plan(context, caller, request.model)
    provider = context.provider(IMAGES)
    lifecycle.check_brand(caller, request.brand_id)
    brief = told(request.prompt, request.guidelines)
    ratio = None if request.aspect_ratio == "default" else request.aspect_ratio
    lifecycle.check_credits(context, caller, IMAGE)
    with references.collected(
        context, caller, urls=request.reference_image_urls, media_ids=request.reference_media_ids
    ) as pictures:
        return _make(
            context,
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


def edit(context: AppContext, caller: Caller, request: api.EditImage) -> api.AiResult:
    """Raises what `generate` does, and VALIDATION_ERROR unless there is exactly one picture to edit."""
    work = partial(_edit, context, caller, request, time.monotonic() + context.settings.image_seconds)
    return lifecycle.once(context, caller, work, partial(views.result, context, caller))


def _edit(context: AppContext, caller: Caller, request: api.EditImage, deadline: float) -> api.AiResult:
    _check_plan(context, caller, request.model)
    provider = context.provider(IMAGES)
    sources = one_source(request.image_url, request.media_id, required=True)
    lifecycle.check_credits(context, caller, IMAGE_EDIT)
    with references.collected(context, caller, **sources) as (source,):
        return _make(
            context,
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


def _check_plan(context: AppContext, caller: Caller, model: str) -> None:
    if model == "pro":
        lifecycle.check_elite(context, caller)


def _make(
    context: AppContext,
    caller: Caller,
    kind: str,
    deadline: float,
    make: Callable[[float], Picture],
    **values: Any,
) -> api.AiResult:
    generated_files.check_room(context, caller, generated_files.PICTURE_BYTES)
    job, charged = lifecycle.begin(
        context, caller, kind, lease_seconds=context.settings.lease_seconds, **values
    )
    with context.holding(job.claim, deadline):
        try:
            with context.turn(deadline - _KEEPING_SECONDS):
                picture = make(deadline - _KEEPING_SECONDS)
            media = _keep(context, job, picture)
        except GenerationFailed as error:
            raise lifecycle.give_up(context, job, error.reason) from error
        except generated_files.OutcomeOpen:
            raise  # a worker asks media again when the claim lapses, and ends the job
        except ApiError as error:
            raise lifecycle.give_up(context, job, error.message, _refusal_of(error)) from error
        except Exception as error:
            log.exception("image_failed", job_id=job.id)
            raise lifecycle.give_up(context, job, "Something went wrong on our side.") from error
        done = lifecycle.complete(context, job.claim, media=media)
    if done is None:  # taken for lost meanwhile: refunded, or completed by a worker
        generated_files.discard(context, job, media)
        if (ended := lifecycle.repeated(context, job.caller())) is None:
            raise ApiError(AI_GENERATION_FAILED, job_id=job.id)
        return views.result(context, caller, ended)
    return api.AiResult(job=done.view(), media=media, credits=charged)


def _keep(context: AppContext, job: Job, picture: Picture) -> Media:
    """Its type is what its bytes say, whatever the provider calls it."""
    mime_type = mime_type_of(picture.body)
    if mime_type not in REFERENCE_TYPES:
        raise GenerationFailed("The AI provider made something that is no picture.")
    size_bytes = len(picture.body)

    def note(upload_id: str) -> None:
        held = lifecycle.persist(
            context, lambda connection: Jobs(connection).uploaded(job.claim, upload_id, size_bytes)
        )
        if not held:  # refunded meanwhile: media is not told of the file
            raise GenerationFailed("It was not finished in time.")

    return generated_files.keep(context, job, mime_type, size_bytes, (picture.body,), note)


def _refusal_of(error: ApiError) -> ErrorRow:
    """What a client is told when the file could not be kept."""
    return QUOTA_EXCEEDED if error.row in (QUOTA_EXCEEDED, FILE_TOO_LARGE) else AI_GENERATION_FAILED
