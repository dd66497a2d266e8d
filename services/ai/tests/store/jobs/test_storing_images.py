"""An image that the provider has made is stored although media is away or busy for a moment."""

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


def test_an_image_is_refunded_if_media_is_away_until_the_calls_time_is_up(world: World) -> None:
    world.media.script["begin_upload"] = [ApiError(SERVICE_UNAVAILABLE)]
    with pytest.raises(ApiError, match="AI_GENERATION_FAILED"):
        images.generate(world.context(image_seconds=0), world.caller(), BOAT)
    assert (world.spent(), world.entries("refund")) == (0, 1)
