"""A generated image is stored even if the media service is away or busy for a moment."""

import pytest
from ai_kit.world import World

from ai.jobs import images
from contracts import ai as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError

BOAT = api.GenerateImage(prompt="A red boat")


@pytest.mark.parametrize("call", ["begin_upload", "commit_upload"])
def test_a_call_that_media_does_not_answer_is_repeated(world: World, call: str) -> None:
    world.media.script[call] = [ApiError(SERVICE_UNAVAILABLE)]
    assert images.generate(world.context(), world.caller(), BOAT).job.status == "completed"
    assert (world.provider.count("image"), world.entries("refund")) == (1, 0)


def test_a_commit_is_repeated_after_a_pause_in_which_media_comes_back(world: World) -> None:
    context, pauses = world.context(), []
    world.media.script["commit_upload"] = [ApiError(SERVICE_UNAVAILABLE) for _ in range(2)]

    def come_back(seconds: float) -> None:
        pauses.append(seconds)
        world.media.script["commit_upload"] = []

    context.pause = come_back
    assert images.generate(context, world.caller(), BOAT).job.status == "completed"
    assert len(pauses) == 1
    assert 1 <= pauses[0] <= 3


def test_commits_that_failed_together_are_not_repeated_together(world: World) -> None:
    context, pauses = world.context(), []
    context.pause = pauses.append
    world.media.script["commit_upload"] = [ApiError(SERVICE_UNAVAILABLE) for _ in range(2 * 8)]
    for _ in range(8):
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            images.generate(context, world.caller(), BOAT)
    assert len(set(pauses)) == len(pauses) == 8  # none after the last try


def test_an_image_is_refunded_if_media_is_away_until_the_calls_time_is_up(world: World) -> None:
    world.media.script["begin_upload"] = [ApiError(SERVICE_UNAVAILABLE)]
    with pytest.raises(ApiError, match="AI_GENERATION_FAILED"):
        images.generate(world.context(image_seconds=0), world.caller(), BOAT)
    assert (world.spent(), world.entries("refund")) == (0, 1)
