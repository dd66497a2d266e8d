"""Videos in the background: each is started once, polled, stored, and completed or refunded. An event reports it."""

from typing import Any

import msgspec
import pytest
from ai_kit.world import World

from ai.jobs import images, lost_jobs, video_steps, videos, views
from ai.providers.base import GenerationFailed
from contracts import ai as api
from contracts.errors import QUOTA_EXCEEDED, SERVICE_UNAVAILABLE, ApiError

WAVES = api.GenerateVideo(prompt="Waves", aspect_ratio="9:16", brand_id="brd_a")


def ask(world: World) -> Any:
    caller = world.caller()
    accepted = videos.generate(world.context(), caller, WAVES)
    assert (accepted.job.status, accepted.job.url, accepted.media) == ("processing", None, None)
    assert (accepted.job.size_bytes, accepted.job.mime_type, accepted.job.credits_charged) == (0, None, 90)
    return caller


def shown(world: World, caller: Any) -> api.AiResult:
    return views.show(world.context(), caller, api.JobId(id=world.job(caller.operation_id).id))


def test_a_video_is_generated_with_an_event(world: World) -> None:
    caller = ask(world)
    world.provider.script["poll_video"] = [None, None]
    world.work()
    result = shown(world, caller)
    assert (result.job.status, result.job.media_type, result.job.mime_type) == (
        "completed",
        "video",
        "video/mp4",
    )
    assert result.media is not None
    assert result.media.size_bytes == result.job.size_bytes > 100
    assert (result.credits.charged, result.credits.remaining) == (90, 2_310)
    assert [name for name, _ in world.provider.made] == ["start_video"] + ["poll_video"] * 3 + ["fetch_video"]
    assert world.events() == ["ai.job.completed"]
    [row] = world.ask("SELECT convert_from(body, 'UTF8')::jsonb AS body FROM outbox")
    data = row.body["data"]
    assert (data["userId"], data["brandId"], data["media"]["media_id"]) == (
        world.account, "brd_a", result.job.media_id,
    )  # fmt: skip


@pytest.mark.parametrize("brands", [None, ("brd_a", "brd_b")])
def test_the_event_of_a_video_says_who_may_see_it(brands: tuple[str, ...] | None, world: World) -> None:
    videos.generate(
        world.context(), world.caller(brand_ids=brands), msgspec.structs.replace(WAVES, brand_id=None)
    )
    world.work()
    [row] = world.ask("SELECT convert_from(body, 'UTF8')::jsonb AS body FROM outbox")
    assert (row.body["brand_id"], row.body["made_within"]) == (None, brands and list(brands))


def test_a_video_of_unknown_size_is_measured_through_a_file(world: World) -> None:
    world.provider.clip_size_known = False
    caller = ask(world)
    world.work()
    assert shown(world, caller).job.status == "completed"


def test_a_video_that_is_too_large_is_refunded(world: World) -> None:
    for known in (True, False):
        world.provider.clip_size_known = known
        caller = ask(world)
        world.work(world.context(max_video_bytes=100))
        assert "larger than 100 bytes" in (shown(world, caller).job.error or "")
    assert world.spent() == 0


@pytest.mark.parametrize("method", ["start_video", "poll_video"])
def test_a_refusal_is_refunded_with_an_event(world: World, method: str) -> None:
    caller = ask(world)
    world.provider.script[method] = [GenerationFailed("Declined.")]
    world.work()
    job = shown(world, caller).job
    assert (job.status, job.error, job.credits_charged) == ("failed", "Declined.", 0)
    assert (world.spent(), world.events()) == (0, ["ai.job.failed"])


def test_a_failed_start_is_not_repeated_and_a_deferred_one_is(world: World) -> None:
    caller = ask(world)
    world.provider.script["start_video"] = [GenerationFailed("Busy.", wait_seconds=30)] * 5
    world.work()
    assert shown(world, caller).job.status == "completed"
    caller = ask(world)
    world.provider.script["start_video"] = [GenerationFailed("Too slow.", transient=True)]
    world.work()
    assert shown(world, caller).job.status == "failed"


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        ("poll_video", GenerationFailed("Failed.", transient=True)),
        ("fetch_video", GenerationFailed("Failed.", transient=True)),
        ("begin_upload", ApiError(SERVICE_UNAVAILABLE)),
        ("commit_upload", ApiError(SERVICE_UNAVAILABLE)),
    ],
)
def test_transient_failures_are_retried(world: World, method: str, problem: Exception) -> None:
    caller = ask(world)
    (world.media if "upload" in method else world.provider).script[method] = [problem, problem, problem]
    world.work()
    assert shown(world, caller).job.status == "completed"
    assert (world.provider.count("start_video"), len(world.media.kept)) == (1, 1)


def test_a_video_over_the_storage_quota_is_refunded(world: World) -> None:
    caller = ask(world)
    world.media.script["begin_upload"] = [ApiError(QUOTA_EXCEEDED)]
    world.work()
    assert (shown(world, caller).job.status, world.spent()) == ("failed", 0)


def test_nothing_is_processing_for_thirty_minutes(world: World) -> None:
    caller = ask(world)
    context = world.context()
    world.provider.script["poll_video"] = [None] * 100
    for _ in range(4):
        world.lapse()
        video_steps.make_videos(context)
    world.shift(28 * 60)
    assert lost_jobs.fail_lost(context) == 0
    world.shift(90)
    assert lost_jobs.fail_lost(context) == 1
    job = shown(world, caller).job
    assert (job.status, job.error, job.credits_charged) == ("failed", "The job did not finish in time.", 0)
    assert (world.spent(), world.events()) == (0, ["ai.job.failed"])
    assert video_steps.make_videos(context) == 0


def test_a_video_whose_job_fails_during_the_transfer_leaves_no_file(world: World) -> None:
    caller = ask(world)
    video_steps.make_videos(world.context())

    def late() -> None:
        world.shift(3_600)
        lost_jobs.fail_lost(world.context())

    world.provider.before = late
    world.lapse()
    video_steps.make_videos(world.context())
    assert (world.job(caller.operation_id).state, world.media.kept, world.events()) == (
        "failed",
        {},
        ["ai.job.failed"],
    )


def test_two_workers_of_one_video_keep_one_file(world: World) -> None:
    """The first worker was slow: its claim lapsed, and another worker took over and finished."""
    caller = ask(world)
    video_steps.make_videos(world.context())
    slow = [True]

    def overtaken() -> None:
        if slow:
            slow.clear()
            world.work()

    commit = world.media.commit_upload

    def committing(*args: Any, **options: Any) -> Any:
        kept = commit(*args, **options)
        overtaken()
        return kept

    world.media.commit_upload = committing
    world.lapse()
    video_steps.make_videos(world.context())
    result = shown(world, caller)
    assert (result.job.status, result.media is not None) == ("completed", True)
    assert (list(world.media.kept), world.events()) == ([result.job.media_id], ["ai.job.completed"])


def test_an_image_is_animated_and_fetched_when_it_is_needed(world: World) -> None:
    picture = images.generate(world.context(), world.caller(), api.GenerateImage(prompt="Boat"))
    caller = world.caller()
    accepted = videos.generate(
        world.context(), caller, api.GenerateVideo(prompt="Waves", media_id=picture.job.media_id)
    )
    assert accepted.job.params.image_to_video
    del world.media.kept[picture.job.media_id]
    world.work()
    assert shown(world, caller).job.status == "failed"


def test_videos_are_for_elite(world: World) -> None:
    with pytest.raises(ApiError) as refusal:
        videos.generate(world.context(), world.caller(tier="pro"), WAVES)
    assert refusal.value.code == "PLAN_REQUIRED"
    assert world.entries("charge") == 0


def test_the_same_operation_gets_the_same_job_at_any_time(world: World) -> None:
    caller = ask(world)
    ids = {videos.generate(world.context(), caller, WAVES).job.job_id}
    world.work()
    again = videos.generate(world.context(), caller, WAVES)
    assert ids == {again.job.job_id}
    assert (again.job.status, world.spent(), world.provider.count("start_video")) == ("completed", 90, 1)
