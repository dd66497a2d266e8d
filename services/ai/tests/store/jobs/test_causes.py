"""Background work continues the trace of its request, which the job's row stores. Metrics count credits once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ai_kit.world import World

from ai import metrics
from ai.context import AppContext
from ai.jobs import images, videos
from ai.providers.base import GenerationFailed
from chassis import telemetry
from chassis.telemetry import tracing
from contracts import ai as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from testkit.collector import Collector

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RECORDED, UNRECORDED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"
WAVES = api.GenerateVideo(prompt="Waves")
BOAT = api.GenerateImage(prompt="A boat")


def ask(world: World, cause: str) -> None:
    with tracing.request("POST", "/api/v1/ai/videos", cause, "req_1"):
        videos.generate(world.context(), world.caller(), WAVES)


def told_by(world: World) -> list[str | None]:
    return [row.traceparent for row in world.ask("SELECT traceparent FROM outbox ORDER BY position")]


@pytest.mark.parametrize("ends", ["ai.job.completed", "ai.job.failed"])
def test_each_video_step_continues_the_requests_trace_and_the_event_the_last_steps(
    world: World, recording: Collector, ends: str
) -> None:
    if ends == "ai.job.failed":
        world.provider.script["poll_video"] = [GenerationFailed("Declined.")]
    asked: list[str] = []
    world.provider.before = lambda: asked.append(tracing.traceparent())
    ask(world, RECORDED)
    world.work()
    telemetry.stop()
    [request] = recording.spans(kind="server")
    steps = {step.span_id: step for step in recording.spans(name="make video")}
    assert len(steps) == 2
    for step in steps.values():
        assert (step.trace_id, step.parent_id) == (TRACE, request.span_id)
        assert step.links == ((TRACE, request.span_id),)
    assert {cause.split("-")[2] for cause in asked} == set(
        steps
    )  # calls to the provider are traced under a step
    assert world.events() == [ends]
    assert told_by(world) == [f"00-{TRACE}-{list(steps)[-1]}-01"]


def test_the_event_of_a_lost_job_continues_its_requests_trace(world: World, recording: Collector) -> None:
    ask(world, RECORDED)
    world.shift(3_600)
    world.work()
    telemetry.stop()
    [request] = recording.spans(kind="server")
    assert world.events() == ["ai.job.failed"]
    assert told_by(world) == [f"00-{TRACE}-{request.span_id}-01"]


@pytest.mark.usefixtures("recording")
def test_an_unrecorded_trace_is_passed_on_too(world: World) -> None:
    ask(world, UNRECORDED)
    world.work()
    assert told_by(world) == [UNRECORDED]


def test_untraced_a_job_has_no_trace(world: World) -> None:
    ask(world, RECORDED)
    world.work()
    assert told_by(world) == [None]


class Refusing:
    """A database that fails before the commit of the transactions with these numbers."""

    def __init__(self, database: Any, *refused: int) -> None:
        self._database, self._refused, self._count = database, refused, 0
        self.reading = database.reading

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        self._count += 1
        with self._database.transaction() as connection:
            yield connection
            if self._count in self._refused:
                raise ApiError(SERVICE_UNAVAILABLE)


def context_refusing(world: World, *refused: int) -> AppContext:
    context = world.context()
    context.database = Refusing(world.database, *refused)  # type: ignore[assignment]
    return context


@pytest.mark.usefixtures("recording")
def test_credits_are_counted_once_and_only_when_they_are_in_the_ledger(world: World) -> None:
    key = (("action", "image"),)
    with pytest.raises(ApiError):
        images.generate(context_refusing(world, 1), world.caller(), BOAT)
    assert (world.spent(), metrics.SPENT.sums) == (0, {})
    caller = world.caller()
    for _ in range(2):
        images.generate(world.context(), caller, BOAT)
    assert (world.spent(), metrics.SPENT.sums, metrics.REFUNDED.sums) == (10, {key: 10}, {})
    world.provider.script["image"] = [GenerationFailed("Declined.")]
    with pytest.raises(
        ApiError
    ):  # the first transaction charges; the second, the refund, must be written again
        images.generate(context_refusing(world, 2), world.caller(), BOAT)
    assert (world.spent(), metrics.SPENT.sums, metrics.REFUNDED.sums) == (10, {key: 20}, {key: 10})
