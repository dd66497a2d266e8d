"""A process may die between any two steps. Every job is then either completed or refunded, never both."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from ai_kit.mortal_process import Life, ProcessDied
from ai_kit.world import World

from ai.jobs import captions, generated_files, images, lifecycle, lost_jobs, video_steps, videos
from ai.store.jobs import Jobs
from chassis.db.database import Database
from chassis.ids import new_id
from contracts import ai as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.media import BeginUpload

IMAGE = api.GenerateImage(prompt="A boat")
VIDEO = api.GenerateVideo(prompt="Waves")
CAPTION = api.WriteCaption(brand_id="brd_a", brand_name="Boats", instruction="Write about boats")
COSTS = {images.generate: 10, captions.write: 1, videos.generate: 90}


def consistent(world: World, operation: str, cost: int) -> str:
    """Returns how the operation ended. Fails unless it ended in exactly one way."""
    job = world.job(operation)
    if job is None:
        assert (world.entries("charge"), world.media.kept) == (0, {})
        return "never"
    assert job.state in ("completed", "failed")
    completed = job.state == "completed"
    assert world.spent() == (cost if completed else 0) == job.credits_charged
    assert (world.entries("charge"), world.entries("refund")) == (1, 0 if completed else 1)
    made = [job.media["media_id"]] if completed and job.kind != "caption" else []
    assert list(world.media.kept) == made  # a refunded customer has no file either
    told = {"completed": ["ai.job.completed"], "failed": ["ai.job.failed"]}[job.state]
    assert world.events() == (told if job.kind == "video" else [])
    return str(job.state)


@pytest.mark.parametrize(
    ("make", "request_"), [(images.generate, IMAGE), (captions.write, CAPTION)], ids=["image", "caption"]
)
def test_a_call_that_dies_anywhere_is_completed_or_refunded(
    database: Database, make: Callable[..., Any], request_: Any
) -> None:
    outcomes: list[str] = []
    for last in range(100):
        world, operation = World(database), new_id("op")
        caller = world.caller(operation)
        try:
            make(world.context(Life(last)), caller, request_)
            died = False
        except ProcessDied:
            died = True
        world.work()
        outcome = consistent(world, operation, COSTS[make])
        outcomes.append(outcome)
        if outcome == "failed":
            with pytest.raises(ApiError, match="AI_GENERATION_FAILED"):
                make(world.context(), caller, request_)
        else:
            make(world.context(), caller, request_)
        assert consistent(world, operation, COSTS[make]) == ("completed" if outcome == "never" else outcome)
        if not died:
            break
    assert outcomes[-1] == "completed"
    assert set(outcomes) == {"never", "failed", "completed"}


def commits_unheard(world: World) -> Callable[[], None]:
    """Makes the fake media service keep each committed file but lose the answer. Returns a function that undoes
    this.
    """
    heard = world.media.commit_upload

    def unheard(*args: Any, **options: Any) -> None:
        heard(*args, **options)
        raise ApiError(SERVICE_UNAVAILABLE)

    def heard_again() -> None:
        world.media.commit_upload = heard  # type: ignore[method-assign]

    world.media.commit_upload = unheard  # type: ignore[method-assign, assignment]
    return heard_again


def test_an_image_that_media_may_have_kept_is_not_refunded(world: World) -> None:
    operation = new_id("op")
    heard_again = commits_unheard(world)
    for code in ("SERVICE_UNAVAILABLE", "IDEMPOTENCY_IN_PROGRESS"):
        with pytest.raises(ApiError, match=code) as refused:
            images.generate(world.context(), world.caller(operation), IMAGE)
        assert refused.value.extras["job_id"] == world.job(operation).id
    heard_again()
    world.work()
    assert consistent(world, operation, 10) == "completed"
    assert list(world.media.kept) == [
        images.generate(world.context(), world.caller(operation), IMAGE).job.media_id
    ]


def test_an_image_of_a_failed_job_is_not_committed(world: World) -> None:
    """If the media service committed it and the answer were lost, the customer would have both the file and the
    refund.
    """
    operation = new_id("op")
    commits_unheard(world)

    def swept() -> None:
        world.lapse()
        assert lost_jobs.fail_lost(world.context()) == 1

    world.provider.before = swept
    with pytest.raises(ApiError, match="AI_GENERATION_FAILED"):
        images.generate(world.context(), world.caller(operation), IMAGE)
    assert consistent(world, operation, 10) == "failed"


def test_a_video_whose_workers_die_anywhere_is_completed_or_refunded(database: Database) -> None:
    outcomes: list[str] = []
    for last in range(200):
        world, operation = World(database), new_id("op")
        world.run("DELETE FROM outbox")
        videos.generate(world.context(), world.caller(operation), VIDEO)
        context = world.context(Life(last))
        try:
            world.work(context)
            died = False
        except ProcessDied:
            died = True
        world.work()
        outcomes.append(consistent(world, operation, 90))
        assert world.provider.count("start_video") <= 2
        if not died:
            break
    assert outcomes[-1] == "completed"
    assert set(outcomes) == {"completed"}
    assert len(outcomes) > 30


def test_a_video_whose_every_worker_dies_is_refunded_in_time(database: Database) -> None:
    world, operation = World(database), new_id("op")
    videos.generate(world.context(), world.caller(operation), VIDEO)
    for last in range(12):
        world.lapse()
        with pytest.raises(ProcessDied):
            video_steps.make_videos(world.context(Life(last % 7)))
    world.shift(1_800)
    assert lost_jobs.fail_lost(world.context()) == 1
    assert consistent(world, operation, 90) == "failed"


def test_a_start_that_dies_twice_is_refunded(database: Database) -> None:
    """Nobody knows what the provider did, and it gets no third request."""
    world, operation = World(database), new_id("op")
    videos.generate(world.context(), world.caller(operation), VIDEO)

    def dies() -> None:
        raise ProcessDied

    world.provider.before = dies
    for _ in range(2):
        world.lapse()
        with pytest.raises(ProcessDied):
            video_steps.make_videos(world.context())
    world.provider.before = lambda: None
    world.work()
    assert consistent(world, operation, 90) == "failed"
    assert world.provider.made == []


def test_of_a_completion_and_a_refund_at_the_same_moment_one_happens(database: Database) -> None:
    states: list[str] = []
    with ThreadPoolExecutor(3) as pool:
        for number in range(40):
            world, operation = World(database), new_id("op")
            world.run("DELETE FROM outbox")
            context = world.context()
            videos.generate(context, world.caller(operation), VIDEO)
            [job] = [row for row in _claimed(world) if row.id == world.job(operation).id]
            media = world.media.commit_upload(world.caller(operation), _upload(world))
            world.shift(1_800)
            complete = partial(_complete, context, job, media)
            sweep = partial(lost_jobs.fail_lost, world.context())
            order = (complete, sweep, sweep) if number % 2 else (sweep, sweep, complete)
            results = [pool.submit(task) for task in order]
            assert sum(bool(result.result()) for result in results) == 1
            states.append(consistent(world, operation, 90))
            world.shift(-1_800)
    assert set(states) == {"completed", "failed"}


def test_a_completion_that_is_written_twice_is_one(database: Database) -> None:
    """The commit succeeded and its answer was lost, so the worker writes the outcome again."""
    world, operation = World(database), new_id("op")
    videos.generate(world.context(), world.caller(operation), VIDEO)
    [job] = _claimed(world)
    media = world.media.commit_upload(world.caller(operation), _upload(world))
    first = lifecycle.complete(world.context(), job.claim, media=media)
    assert lifecycle.complete(world.context(), job.claim, media=media) == first
    assert lifecycle.fail(world.context(), job.claim, "late") is None
    assert consistent(world, operation, 90) == "completed"


def _complete(context: Any, job: Any, media: Any) -> Any:
    """Completes the job as a worker does. Deletes the file if the job has ended before."""
    done = lifecycle.complete(context, job.claim, media=media)
    return done or generated_files.discard(context, job, media)


def _claimed(world: World) -> list[Any]:
    with world.database.transaction() as connection:
        return Jobs(connection).claim_due(10, 60)


def _upload(world: World) -> Any:
    upload = BeginUpload(filename="a.mp4", mime_type="video/mp4", size_bytes=10, generated=True)
    ticket = world.media.begin_upload(world.caller(), upload)
    return SimpleNamespace(upload_id=ticket.upload_id)
