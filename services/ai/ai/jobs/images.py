"""Generates and edits images while the client waits: checks and charges the request, generates and stores the image.
Refunds the charge if the image cannot be generated or stored.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog

from ai.context import AppContext
from ai.jobs import generated_files, lifecycle, references, views
from ai.providers.base import IMAGES, GenerationFailed, Picture, Provider
from ai.records import Job
from ai.rules.file_types import REFERENCE_TYPES, detect_mime_type
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

#: How much of an image call's time is left for storing the image when the provider's part ends: some megabytes, and
#: media's commit.
_SAVE_SECONDS = 12.0


def generate(context: AppContext, caller: Caller, request: api.GenerateImage) -> api.AiResult:
    """Generates an image, or returns the one that this operation has made before.

    Raises VALIDATION_ERROR or INVALID_REFERENCE_MEDIA for an invalid request; PLAN_REQUIRED, AI_NOT_CONFIGURED,
    QUOTA_EXCEEDED or INSUFFICIENT_CREDITS when the account may not make the image; BRAND_NOT_AUTHORIZED for a brand
    that the token may not use; AI_GENERATION_FAILED or SERVICE_UNAVAILABLE when the generation fails; and
    IDEMPOTENCY_IN_PROGRESS while the same operation runs.
    """
    work = partial(_generate, context, caller, request, time.monotonic() + context.settings.image_seconds)
    return lifecycle.once(context, caller, work, partial(views.result, context, caller))


def _generate(
    context: AppContext, caller: Caller, request: api.GenerateImage, deadline: float
) -> api.AiResult:
    if len(request.reference_image_urls) + len(request.reference_media_ids) > api.MOST_REFERENCES:
        raise invalid("reference_media_ids", f"At most {api.MOST_REFERENCES} reference images in total")
    _check_plan(context, caller, request.model)
    provider = context.provider(IMAGES)
    lifecycle.check_brand(caller, request.brand_id)
    brief = with_guidelines(request.prompt, request.guidelines)
    lifecycle.check_credits(context, caller, IMAGE)
    with references.collected(
        context, caller, urls=request.reference_image_urls, media_ids=request.reference_media_ids
    ) as pictures:
        return _make(
            context, caller, IMAGE, deadline, provider, pictures, prompt=request.prompt, brief=brief,
            model=request.model, aspect_ratio=request.aspect_ratio, brand_id=request.brand_id,
        )  # fmt: skip


def edit(context: AppContext, caller: Caller, request: api.EditImage) -> api.AiResult:
    """Edits the request's image and returns the edited one. For a repeated operation returns the image that it made
    before.

    Raises VALIDATION_ERROR unless there is exactly one image to edit, and the errors of `generate`.
    """
    work = partial(_edit, context, caller, request, time.monotonic() + context.settings.image_seconds)
    return lifecycle.once(context, caller, work, partial(views.result, context, caller))


def _edit(context: AppContext, caller: Caller, request: api.EditImage, deadline: float) -> api.AiResult:
    _check_plan(context, caller, request.model)
    provider = context.provider(IMAGES)
    sources = single_reference(request.image_url, request.media_id, required=True)
    lifecycle.check_credits(context, caller, IMAGE_EDIT)
    with references.collected(context, caller, **sources) as pictures:
        return _make(
            context, caller, IMAGE_EDIT, deadline, provider, pictures, prompt=request.prompt, brief=request.prompt,
            model=request.model,
        )  # fmt: skip


def single_reference(image_url: str | None, media_id: str | None, *, required: bool) -> dict[str, Any]:
    """Returns the image that an edit or a video starts from, if there is one, as arguments of `references.collected`.
    Raises VALIDATION_ERROR for two images, or for none if one is required.
    """
    if image_url is not None and media_id is not None:
        raise invalid("media_id", "Send image_url or media_id, not both")
    if image_url is None and media_id is None and required:
        raise invalid("image_url", "Send image_url or media_id")
    return {
        "urls": () if image_url is None else (image_url,),
        "media_ids": () if media_id is None else (media_id,),
    }


def with_guidelines(prompt: str, guidelines: str | None) -> str:
    """Returns the prompt with the brand's guidelines, if it has any."""
    return f"{prompt}\n\nFollow these brand guidelines: {guidelines}" if guidelines else prompt


def _check_plan(context: AppContext, caller: Caller, model: str) -> None:
    if model == "pro":
        lifecycle.check_elite(context, caller)


def _make(
    context: AppContext, caller: Caller, kind: str, deadline: float, provider: Provider, pictures: Sequence[Picture],
    *, model: str, **values: Any,
) -> api.AiResult:  # fmt: skip
    generated_files.check_quota(context, caller, generated_files.PICTURE_BYTES)
    job, charged = lifecycle.begin(
        context, caller, kind, lease_seconds=context.settings.lease_seconds, provider=provider.name, model=model,
        **values,
    )  # fmt: skip
    provider_deadline = deadline - _SAVE_SECONDS
    with context.hold_claim(job.claim, deadline):
        try:
            with context.provider_slot(wait_seconds=provider_deadline - time.monotonic()):
                picture = provider.image(
                    job.brief,
                    aspect_ratio=job.provider_aspect_ratio,
                    model=model,
                    references=pictures,
                    deadline=provider_deadline,
                )
            media = _save(context, job, picture)
        except GenerationFailed as error:
            raise lifecycle.fail_with_error(context, job, error.reason) from error
        except generated_files.CommitOutcomeUnknown:
            raise  # a worker commits again when the claim lapses, and ends the job
        except ApiError as error:
            raise lifecycle.fail_with_error(context, job, error.message, _refusal_of(error)) from error
        except Exception as error:
            log.exception("image_failed", job_id=job.id)
            raise lifecycle.fail_with_error(context, job, "Something went wrong on our side.") from error
        done = lifecycle.complete(context, job.claim, media=media)
    if done is None:  # the claim had lapsed: another worker refunded or completed the job
        generated_files.discard(context, job, media)
        if (ended := lifecycle.job_of_earlier_call(context, job.caller())) is None:
            raise ApiError(AI_GENERATION_FAILED, job_id=job.id)
        return views.result(context, caller, ended)
    return api.AiResult(job=done.view(), media=media, credits=charged)


def _save(context: AppContext, job: Job, picture: Picture) -> Media:
    """Stores the generated image and returns it. Its type is detected from its bytes, whatever the provider says.
    Raises GenerationFailed if the file is not an image, if the storage does not take the bytes, or if the job has lost
    its claim. Raises ApiError if the media service does not accept the file or is down.
    """
    mime_type = detect_mime_type(picture.body)
    if mime_type not in REFERENCE_TYPES:
        raise GenerationFailed("The AI provider returned a file that is not an image.")
    size_bytes = len(picture.body)

    def note(upload_id: str) -> None:
        held = lifecycle.persist(
            context, lambda connection: Jobs(connection).uploaded(job.claim, upload_id, size_bytes)
        )
        if not held:  # refunded meanwhile: do not commit the file
            raise GenerationFailed("The job did not finish in time.")

    return generated_files.save(context, job, mime_type, size_bytes, (picture.body,), note)


def _refusal_of(error: ApiError) -> ErrorRow:
    """Returns the error code (a row of the table of errors) of a job whose file could not be stored. `error`: why it
    could not be stored.
    """
    return QUOTA_EXCEEDED if error.row in (QUOTA_EXCEEDED, FILE_TOO_LARGE) else AI_GENERATION_FAILED
