"""The operations on images, videos, captions and jobs of AI, and Stripe's webhook. Each operation answers with a header
that has the number of credits left; the webhook does not.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from contracts import ai as api
from contracts.accounts import Brand, GetBrand
from contracts.caller import Caller
from contracts.errors import (
    AI_GENERATION_FAILED,
    AI_NOT_CONFIGURED,
    BRAND_NOT_AUTHORIZED,
    INSUFFICIENT_CREDITS,
    INVALID_REFERENCE_MEDIA,
    NOT_FOUND,
    PLAN_REQUIRED,
    QUOTA_EXCEEDED,
    SERVER_ERROR,
    SERVICE_UNAVAILABLE,
    ApiError,
    invalid,
)
from contracts.record import Nothing, Record
from gateway import BASE_PATH
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer

#: Spec "AI generation".
CREDITS_HEADER = "X-Credits-Remaining"

_PAID = (INSUFFICIENT_CREDITS, AI_GENERATION_FAILED, AI_NOT_CONFIGURED)
_BRAND = (NOT_FOUND, BRAND_NOT_AUTHORIZED)
_IMAGE = (INVALID_REFERENCE_MEDIA, PLAN_REQUIRED, QUOTA_EXCEEDED)
#: The 75 s that the service `ai` gives the provider, and the work before and after.
_IMAGE_SECONDS = 90.0
#: The image to animate is fetched and checked first.
_VIDEO_SECONDS = 30.0
_CAPTION_SECONDS = 60.0
_AWAY = (SERVICE_UNAVAILABLE, SERVER_ERROR)

Request = TypeVar("Request")
Result = TypeVar("Result")


def add_credits_header(exchange: Exchange, error: ApiError) -> None:
    """Adds a header with the number of credits left to an error's answer (docs/spec.md, "AI generation").

    An error about an outage gets no such header.
    """
    left = error.extras.get("available")
    if left is None and error.row not in _AWAY:
        try:
            left = exchange.ask(exchange.services.ai.get_credits, Nothing()).credits.available
        except ApiError:
            return  # the error is answered without it
    if left is not None:
        exchange.headers[CREDITS_HEADER] = str(left)


class AiJobAccepted(Record):
    """A video job that has begun, and where to ask for its result (spec "AiJobAccepted")."""

    job: api.AiJob
    poll_url: str
    credits: api.CreditsAfterCharge


class JobListView(Record):
    jobs: tuple[api.AiJob, ...]
    next_cursor: str | None = None


@endpoint(
    "POST", "/ai/images", scope="write:ai", meter="writes", status=201, errors=(*_PAID, *_IMAGE, *_BRAND),
    deadline_seconds=_IMAGE_SECONDS, headers=(CREDITS_HEADER,), on_refusal=add_credits_header,
)  # fmt: skip
def generate_image(exchange: Exchange, request: api.ImageBody) -> api.AiResult:
    """Generate an image (10 credits)."""
    brand = _brand(exchange, request.brand_id)
    made = api.GenerateImage(**_fields(request), guidelines=brand.image_guidelines if brand else None)
    return _spend(exchange, exchange.services.ai.generate_image, made)


@endpoint(
    "POST", "/ai/images/edit", scope="write:ai", meter="writes", status=201, errors=(*_PAID, *_IMAGE),
    deadline_seconds=_IMAGE_SECONDS, headers=(CREDITS_HEADER,), on_refusal=add_credits_header,
)  # fmt: skip
def edit_image(exchange: Exchange, request: api.EditImage) -> api.AiResult:
    """Edit an image (10 credits)."""
    return _spend(exchange, exchange.services.ai.edit_image, request)


@endpoint(
    "POST", "/ai/videos", scope="write:ai", meter="writes", status=202, errors=(*_PAID, *_IMAGE, *_BRAND),
    deadline_seconds=_VIDEO_SECONDS, headers=(CREDITS_HEADER,), on_refusal=add_credits_header,
)  # fmt: skip
def generate_video(exchange: Exchange, request: api.VideoBody) -> AiJobAccepted:
    """Start generating a video (90 credits); poll its job."""
    brand = _brand(exchange, request.brand_id)
    made = api.GenerateVideo(**_fields(request), guidelines=brand.image_guidelines if brand else None)
    result = _spend(exchange, exchange.services.ai.generate_video, made)
    return AiJobAccepted(
        job=result.job, poll_url=f"{BASE_PATH}/ai/jobs/{result.job.job_id}", credits=result.credits
    )


@endpoint(
    "GET", "/ai/jobs", scope="write:ai", meter="reads", headers=(CREDITS_HEADER,), on_refusal=add_credits_header,
)  # fmt: skip
def list_ai_jobs(exchange: Exchange, request: api.ListJobs) -> JobListView:
    """List jobs, newest first."""
    found = exchange.ask(exchange.services.ai.list_jobs, request)
    exchange.headers[CREDITS_HEADER] = str(found.credits_remaining)
    return JobListView(jobs=found.jobs, next_cursor=found.next_cursor)


@endpoint(
    "GET", "/ai/jobs/{id}", scope="write:ai", meter="reads", errors=(NOT_FOUND,), headers=(CREDITS_HEADER,),
    on_refusal=add_credits_header,
)  # fmt: skip
def get_ai_job(exchange: Exchange, request: api.JobId) -> api.AiResult:
    """Get a job, with its media once it is completed."""
    return _spend(exchange, exchange.services.ai.get_job, request)


@endpoint(
    "POST", "/ai/captions", scope="write:ai", meter="writes", errors=(*_PAID, *_BRAND),
    deadline_seconds=_CAPTION_SECONDS, headers=(CREDITS_HEADER,), on_refusal=add_credits_header,
)  # fmt: skip
def write_caption(exchange: Exchange, request: api.CaptionBody) -> api.Caption:
    """Write a caption in a brand's voice (1 credit)."""
    brand = _brand(exchange, request.brand_id)
    assert brand is not None
    made = api.WriteCaption(
        **_fields(request),
        brand_name=brand.name,
        brand_description=brand.description,
        guidelines=brand.caption_guidelines,
    )
    return _spend(exchange, exchange.services.ai.write_caption, made)


@endpoint(
    "POST", "/hooks/stripe", scope=None, meter="", result=None, idempotent=False, token=False, outside=True
)
def receive_stripe_event(exchange: Exchange, _request: Nothing) -> Answer:
    """Receive an event from Stripe; the signature is checked over the raw body."""
    try:
        body = exchange.body.decode()
    except UnicodeDecodeError:
        raise invalid("body", "Must be UTF-8") from None
    signature = exchange.environ.get("HTTP_STRIPE_SIGNATURE", "")
    hook = api.PaymentHook(provider="stripe", body=body, signature=signature)
    exchange.ask(exchange.services.ai.payment_hook, hook)
    return Answer(200, b"")


def _brand(exchange: Exchange, brand_id: str | None) -> Brand | None:
    """Returns the brand that a request names, if any. Raises NOT_FOUND if there is none with this id, and
    BRAND_NOT_AUTHORIZED if the token may not use it.
    """
    if brand_id is None:
        return None
    return exchange.ask(exchange.services.accounts.get_brand, GetBrand(brand_id=brand_id, field="brand_id"))


def _fields(body: Record) -> dict[str, Any]:
    return msgspec.structs.asdict(body)


def _spend(exchange: Exchange, method: Callable[[Caller, Request], Result], request: Request) -> Result:
    """Calls a method whose result has `credits`, and copies the number of credits that are left to a header of the
    answer.
    """
    result = exchange.ask(method, request)
    exchange.headers[CREDITS_HEADER] = str(result.credits.remaining)  # type: ignore[attr-defined]
    return result
