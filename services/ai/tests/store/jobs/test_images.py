"""Images that are generated while the client waits: charged once and generated once, then stored or refunded."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from ai_kit.world import World
from msgspec.structs import replace
from structlog.testing import capture_logs

from ai.jobs import generated_files, images, lost_jobs, references, views
from ai.providers.base import GenerationFailed, Picture
from ai.storage import StorageError
from chassis.ids import new_id
from contracts import ai as api
from contracts.errors import (
    FILE_TOO_LARGE,
    INVALID_FILE_CONTENT,
    QUOTA_EXCEEDED,
    ApiError,
)

BOAT = api.GenerateImage(prompt="A red boat")


def refused(call: Any, *args: Any) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        call(*args)
    return refusal.value


def test_an_image_is_charged_generated_and_stored(world: World) -> None:
    caller = world.caller()
    request = api.GenerateImage(prompt="A red boat", aspect_ratio="16:9", guidelines="Only blue.")
    result = images.generate(world.context(), caller, request)
    job = result.job
    assert (job.status, job.kind, job.prompt, job.credits_charged) == ("completed", "image", "A red boat", 10)
    assert (job.media_id, job.mime_type) == (result.media.media_id, "image/png")
    assert (job.url, job.size_bytes) == (result.media.url, result.media.size_bytes)
    assert job.params == api.JobParams(aspect_ratio="16:9", model="flash")
    assert (result.credits.charged, result.credits.remaining) == (10, 2_390)
    assert world.provider.made == [("image", "A red boat\n\nFollow these brand guidelines: Only blue.")]
    assert world.spent() == 10
    assert world.events() == []


def test_the_same_operation_gets_the_same_image_and_pays_once(world: World) -> None:
    caller, context = world.caller(), world.context()
    first = images.generate(context, caller, BOAT)
    images.generate(context, world.caller(), BOAT)
    again = images.generate(context, caller, BOAT)
    assert (again.job, again.media) == (first.job, first.media)
    assert (again.credits.charged, again.credits.remaining) == (10, 2_380)
    assert (world.spent(), world.provider.count("image")) == (20, 2)


def test_a_repeated_call_during_the_first_is_asked_to_retry(world: World) -> None:
    caller, context = world.caller(), world.context()
    codes: list[str] = []
    world.provider.before = lambda: codes.append(refused(images.generate, world.context(), caller, BOAT).code)
    assert images.generate(context, caller, BOAT).job.status == "completed"
    assert codes == ["IDEMPOTENCY_IN_PROGRESS"]
    assert world.entries("charge") == 1


@pytest.mark.parametrize(
    ("where", "problem", "code"),
    [
        ("provider", GenerationFailed("Declined."), "AI_GENERATION_FAILED"),
        ("provider", ZeroDivisionError(), "AI_GENERATION_FAILED"),
        ("provider", Picture(b"GIF89a", "image/gif"), "AI_GENERATION_FAILED"),
        ("storage", StorageError("away"), "AI_GENERATION_FAILED"),
        ("begin_upload", ApiError(QUOTA_EXCEEDED), "QUOTA_EXCEEDED"),
        ("begin_upload", ApiError(FILE_TOO_LARGE), "QUOTA_EXCEEDED"),
        ("commit_upload", ApiError(INVALID_FILE_CONTENT), "AI_GENERATION_FAILED"),
    ],
)
def test_any_failure_is_refunded_and_stays_refused(world: World, where: str, problem: Any, code: str) -> None:
    caller, context = world.caller(), world.context()
    if where == "provider":
        world.provider.script["image"] = [problem]
    elif where == "storage":
        world.storage.script = [problem]
    else:
        world.media.script[where] = [problem]
    error = refused(images.generate, context, caller, BOAT)
    assert error.code == code
    result = views.show(context, caller, api.JobId(id=error.extras["job_id"]))
    assert (result.job.status, result.job.credits_charged, result.media) == ("failed", 0, None)
    assert result.job.error == error.extras["reason"] != ""
    assert (result.credits.charged, result.credits.remaining) == (0, 2_400)
    assert (world.spent(), world.entries("charge"), world.entries("refund")) == (0, 1, 1)
    assert refused(images.generate, context, caller, BOAT).code == code
    assert world.entries("charge") == 1


def test_a_failed_job_is_logged_with_its_reason(world: World) -> None:
    world.provider.script["image"] = [GenerationFailed("Declined.")]
    with capture_logs() as lines:
        error = refused(images.generate, world.context(), world.caller(), BOAT)
    [line] = [line for line in lines if line["event"] == "job_failed"]
    assert (line["job_id"], line["kind"], line["reason"]) == (error.extras["job_id"], "image", "Declined.")


@pytest.mark.parametrize("tier", ["free", "developer", "pro"])
def test_the_pro_model_is_for_elite(world: World, tier: str) -> None:
    request = api.GenerateImage(prompt="A boat", model="pro")
    error = refused(images.generate, world.context(), world.caller(tier=tier), request)
    assert (error.code, error.extras["upgrade_url"]) == ("PLAN_REQUIRED", "https://posthaste.example/pricing")
    edit = api.EditImage(prompt="A boat", model="pro", image_url="https://example.com/a.png")
    assert refused(images.edit, world.context(), world.caller(tier=tier), edit).code == "PLAN_REQUIRED"
    assert (world.entries("charge"), world.provider.made) == (0, [])


def test_without_a_provider_nothing_is_charged(world: World) -> None:
    context = world.context(configured=False)
    assert refused(images.generate, context, world.caller(), BOAT).code == "AI_NOT_CONFIGURED"
    assert world.entries("charge") == 0


def test_without_free_storage_nothing_is_charged(world: World) -> None:
    world.media.room_bytes = 1_000
    error = refused(images.generate, world.context(), world.caller(), BOAT)
    assert (error.code, error.extras["quota"]["remaining_bytes"]) == ("QUOTA_EXCEEDED", 1_000)
    assert (world.entries("charge"), world.provider.made) == (0, [])


def test_without_credits_nothing_is_generated(world: World) -> None:
    context = world.context()
    for _ in range(3):
        images.generate(context, world.caller(tier="free"), BOAT)
    caller = world.caller(tier="free")
    error = refused(images.generate, context, caller, BOAT)
    assert (error.code, error.extras["required"], error.extras["available"]) == (
        "INSUFFICIENT_CREDITS",
        10,
        0,
    )
    assert world.provider.count("image") == 3
    assert world.job(caller.operation_id) is None


def test_forty_at_once_with_credits_for_three_make_three(world: World) -> None:
    context = world.context()

    def make(_: int) -> str:
        try:
            return images.generate(context, world.caller(tier="free"), BOAT).job.status
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(make, range(40)))
    assert sorted(set(outcomes)) == ["INSUFFICIENT_CREDITS", "completed"]
    assert (outcomes.count("completed"), world.provider.count("image"), world.spent()) == (3, 3, 30)


@pytest.mark.parametrize("sources", [{}, {"image_url": "https://example.com/a.png", "media_id": "med_1"}])
def test_an_edit_needs_exactly_one_image(world: World, sources: dict[str, str]) -> None:
    request = api.EditImage(prompt="Make it blue", **sources)
    assert refused(images.edit, world.context(), world.caller(), request).code == "VALIDATION_ERROR"


def test_an_own_image_is_edited(world: World) -> None:
    context = world.context()
    made = images.generate(context, world.caller(), BOAT)
    request = api.EditImage(prompt="Make it blue", media_id=made.job.media_id)
    result = images.edit(context, world.caller(), request)
    assert (result.job.kind, result.job.status, result.job.params.aspect_ratio) == (
        "image_edit",
        "completed",
        None,
    )
    assert world.provider.count("image") == 2


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "ftp://example.com/a.png",
        "http://127.0.0.1/a.png",
        "http://[::1]/",
        "https://",
        "javascript:1",
    ],
)
def test_a_reference_without_a_public_address_is_refused(world: World, url: str) -> None:
    request = api.GenerateImage(prompt="A boat", reference_image_urls=(url,))
    error = refused(images.generate, world.context(), world.caller(), request)
    assert (error.code, error.extras["reference"]) == ("INVALID_REFERENCE_MEDIA", url)
    assert world.entries("charge") == 0


def test_a_media_id_that_is_not_an_own_image_is_refused(world: World) -> None:
    context = world.context()
    request = api.GenerateImage(prompt="A boat", reference_media_ids=("med_strange",))
    assert refused(images.generate, context, world.caller(), request).code == "INVALID_REFERENCE_MEDIA"
    made = images.generate(context, world.caller(), BOAT)
    request = api.GenerateImage(prompt="A boat", reference_media_ids=(made.job.media_id,))
    world.storage.file = b"<html>"
    assert refused(images.generate, context, world.caller(), request).code == "INVALID_REFERENCE_MEDIA"


def test_an_own_gif_is_sent_as_a_jpeg_and_a_video_is_refused(world: World) -> None:
    context = world.context()
    made = images.generate(context, world.caller(), BOAT).job.media_id
    request = api.GenerateImage(prompt="A boat", reference_media_ids=(made,))
    kept = world.media.kept[made]
    world.media.kept[made] = replace(kept, mime_type="image/gif")
    assert images.generate(context, world.caller(), request).job.status == "completed"
    world.media.kept[made] = replace(kept, mime_type="video/mp4")
    assert refused(images.generate, context, world.caller(), request).code == "INVALID_REFERENCE_MEDIA"


def test_three_references_in_total_are_accepted_and_no_more(world: World) -> None:
    ids = tuple(images.generate(world.context(), world.caller(), BOAT).job.media_id for _ in range(3))
    context = world.context()
    assert images.generate(
        context, world.caller(), api.GenerateImage(prompt="A boat", reference_media_ids=ids)
    )
    url = "http://127.0.0.1/a.png"
    request = api.GenerateImage(prompt="A boat", reference_media_ids=ids, reference_image_urls=(url,))
    error = refused(images.generate, context, world.caller(), request)
    assert (error.code, error.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", "reference_media_ids")
    assert world.entries("charge") == 4


def test_references_wait_for_memory_and_are_refused_if_none_is_freed(world: World) -> None:
    made = images.generate(world.context(), world.caller(), BOAT).job
    context = world.context(reference_memory_bytes=made.size_bytes, reference_seconds=0.05)
    request = api.GenerateImage(prompt="A boat", reference_media_ids=(made.media_id,))
    meanwhile: list[Any] = []

    def others() -> None:
        world.provider.before = lambda: None
        meanwhile.append(refused(images.generate, context, world.caller(), request).code)
        meanwhile.append(images.generate(context, world.caller(), BOAT).job.status)

    world.provider.before = others
    assert images.generate(context, world.caller(), request).job.status == "completed"
    assert meanwhile == ["SERVICE_UNAVAILABLE", "completed"]
    assert images.generate(context, world.caller(), request).job.status == "completed"
    assert world.entries("charge") == 4


def test_references_smaller_than_reserved_free_the_rest(world: World) -> None:
    made = images.generate(world.context(), world.caller(), BOAT).job
    world.media.kept[made.media_id] = replace(world.media.kept[made.media_id], size_bytes=100)
    context = world.context(reference_memory_bytes=100, reference_seconds=0.05)
    left = 100 - len(world.storage.file)

    def others() -> None:
        with context.reference_memory.reserve("usr_b", left):
            assert (
                refused(lambda: context.reference_memory.reserve("usr_c", 1).__enter__()).code
                == "SERVICE_UNAVAILABLE"
            )

    world.provider.before = others
    request = api.GenerateImage(prompt="A boat", reference_media_ids=(made.media_id,))
    assert images.generate(context, world.caller(), request).job.status == "completed"
    with context.reference_memory.reserve("usr_b", 100):
        pass


def test_references_larger_than_the_budget_run_alone(world: World) -> None:
    made = images.generate(world.context(), world.caller(), BOAT).job
    context = world.context(reference_memory_bytes=1, reference_seconds=0.05)
    request = api.GenerateImage(prompt="A boat", reference_media_ids=(made.media_id,))
    assert images.generate(context, world.caller(), request).job.status == "completed"


def test_an_account_gets_half_of_the_budget_or_one_call(world: World) -> None:
    context = world.context(reference_memory_bytes=100, reference_seconds=0.05)
    with context.reference_memory.reserve("usr_a", 20), context.reference_memory.reserve("usr_a", 30):
        assert (
            refused(lambda: context.reference_memory.reserve("usr_a", 1).__enter__()).code
            == "SERVICE_UNAVAILABLE"
        )
        with context.reference_memory.reserve("usr_b", 50):
            pass
    with context.reference_memory.reserve("usr_a", 100):
        pass


@contextmanager
def announced(url: str, **_: Any) -> Iterator[Any]:
    body = b"\x89PNG\r\n\x1a\n"
    yield SimpleNamespace(status=200, length_bytes=len(body), chunks=iter([body]))


def test_references_reserve_the_sizes_that_their_servers_announce(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "stream", announced)
    context = world.context(reference_memory_bytes=32, max_reference_bytes=16, reference_seconds=0.05)
    another = replace(world.caller(), account_id="usr_b")
    request = api.GenerateImage(prompt="A boat", reference_image_urls=("https://a.example/b.png",) * 2)
    meanwhile: list[str] = []

    def others() -> None:
        world.provider.before = lambda: None
        meanwhile.append(images.generate(context, another, request).job.status)

    world.provider.before = others
    assert images.generate(context, world.caller(), request).job.status == "completed"
    assert meanwhile == ["completed"]


def test_a_reference_that_is_longer_than_announced_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with announced("") as answer:
        answer.length_bytes -= 1
    monkeypatch.setattr(references, "stream", lambda url, **_: nullcontext(answer))
    request = api.EditImage(prompt="Make it blue", image_url="https://a.example/b.png")
    assert refused(images.edit, world.context(), world.caller(), request).code == "INVALID_REFERENCE_MEDIA"


def test_without_credits_no_reference_is_fetched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "stream", None)  # a call fails the test
    caller, url = world.caller(tier="free"), "https://a.example/b.png"
    for _ in range(3):
        images.generate(world.context(), world.caller(tier="free"), BOAT)
    for call, request in (
        (images.generate, api.GenerateImage(prompt="A boat", reference_image_urls=(url,))),
        (images.edit, api.EditImage(prompt="Make it blue", image_url=url)),
    ):
        assert refused(call, world.context(), caller, request).code == "INSUFFICIENT_CREDITS"


def test_a_brand_out_of_reach_is_refused(world: World) -> None:
    request = api.GenerateImage(prompt="A boat", brand_id="brd_b")
    error = refused(images.generate, world.context(), world.caller(brand_ids=("brd_a",)), request)
    assert error.code == "BRAND_NOT_AUTHORIZED"


def test_an_image_that_arrives_after_its_job_failed_is_deleted_and_not_charged(world: World) -> None:
    """The provider answers after the claim has lapsed and the job was failed as lost."""

    def swept() -> None:
        world.lapse()
        assert lost_jobs.fail_lost(world.context()) == 1

    world.provider.before = swept
    caller = world.caller()
    assert refused(images.generate, world.context(), caller, BOAT).code == "AI_GENERATION_FAILED"
    assert (world.job(caller.operation_id).state, world.spent(), world.media.kept) == ("failed", 0, {})


def test_a_claim_that_is_renewed_is_not_swept(world: World) -> None:
    def looked() -> None:
        assert lost_jobs.fail_lost(world.context()) == 0

    world.provider.before = looked
    assert images.generate(world.context(), world.caller(), BOAT).job.status == "completed"


def test_an_image_whose_later_try_was_refused_is_neither_generated_nor_charged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first try reads its references for so long that the next try runs, and is refused for another reason."""
    caller, check = world.caller(), generated_files.check_quota

    def overtaken(*arguments: Any) -> None:
        monkeypatch.setattr(generated_files, "check_quota", check)
        later = replace(caller, try_number=2, brand_ids=())
        refusal = refused(images.generate, world.context(), later, replace(BOAT, brand_id="brd_x"))
        assert refusal.code == "BRAND_NOT_AUTHORIZED"
        check(*arguments)

    monkeypatch.setattr(generated_files, "check_quota", overtaken)
    assert refused(images.generate, world.context(), caller, BOAT).code == "IDEMPOTENCY_IN_PROGRESS"
    assert (world.entries("charge"), world.provider.made) == (0, [])


def test_another_accounts_operation_reveals_nothing(world: World) -> None:
    operation = new_id("op")
    images.generate(world.context(), world.caller(operation), BOAT)
    stranger = world.caller(operation)
    stranger = type(stranger)(
        account_id="usr_other", user_id="usr_other", tier="elite", operation_id=operation
    )
    assert refused(images.generate, world.context(), stranger, BOAT).code == "IDEMPOTENCY_IN_PROGRESS"
