"""How the API shows jobs, and which callers see which jobs."""

from typing import Any

import pytest
from ai_kit.world import World

from ai.jobs import images, videos, views
from contracts import ai as api
from contracts.errors import ApiError


def image(world: World, prompt: str = "Boat", **reach: Any) -> api.AiJob:
    return images.generate(world.context(), world.caller(**reach), api.GenerateImage(prompt=prompt)).job


def newest(world: World, request: api.ListJobs | None = None, **reach: Any) -> list[str]:
    found = views.show_list(world.context(), world.caller(**reach), request or api.ListJobs())
    return [job.job_id for job in found.jobs]


def test_jobs_are_listed_newest_first_in_pages(world: World) -> None:
    made = [image(world).job_id for _ in range(5)][::-1]
    seen: list[str] = []
    cursor = None
    for size in (2, 2, 1):
        page = views.show_list(world.context(), world.caller(), api.ListJobs(limit=2, cursor=cursor))
        assert len(page.jobs) == size
        assert page.credits_remaining == 2_350
        seen += [job.job_id for job in page.jobs]
        cursor = page.next_cursor
    assert (seen, cursor) == (made, None)


def test_jobs_are_listed_by_kind(world: World) -> None:
    image(world)
    video = videos.generate(world.context(), world.caller(), api.GenerateVideo(prompt="Waves")).job
    assert newest(world, api.ListJobs(kind="video")) == [video.job_id]
    assert newest(world, api.ListJobs(kind="image_edit")) == []
    assert len(newest(world)) == 2


def test_jobs_are_listed_by_state(world: World) -> None:
    """Checks lists by state, also together with the kind, page by page and for restricted tokens."""
    images = [image(world, brand_ids=("brd_a",)).job_id for _ in range(3)][::-1]
    video = videos.generate(world.context(), world.caller(), api.GenerateVideo(prompt="Waves")).job.job_id
    assert newest(world, api.ListJobs(status="processing")) == [video]
    assert newest(world, api.ListJobs(status="processing", kind="image")) == []
    assert newest(world, api.ListJobs(status="processing"), brand_ids=("brd_a",)) == []
    assert newest(world, api.ListJobs(status="failed")) == []
    for reach in ({}, {"brand_ids": ("brd_a",)}):
        seen: list[str] = []
        cursor = None
        for _ in range(2):
            request = api.ListJobs(status="completed", limit=2, cursor=cursor)
            page = views.show_list(world.context(), world.caller(**reach), request)
            seen += [job.job_id for job in page.jobs]
            cursor = page.next_cursor
        assert (seen, cursor) == (images, None)


@pytest.mark.parametrize("cursor", ["x", "WyJhIiwiYiJd", "WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwiYiJd"])
def test_a_made_up_cursor_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(ApiError, match="VALIDATION_ERROR"):
        newest(world, api.ListJobs(cursor=cursor))


def test_a_restricted_token_sees_what_tokens_within_its_reach_made(world: World) -> None:
    free = image(world)
    first = image(world, brand_ids=("brd_a",))
    both = image(world, brand_ids=("brd_a", "brd_b"))
    assert newest(world) == [both.job_id, first.job_id, free.job_id]
    assert newest(world, brand_ids=("brd_a",)) == [first.job_id]
    assert newest(world, brand_ids=("brd_a", "brd_b")) == [both.job_id, first.job_id]
    assert newest(world, brand_ids=("brd_b",)) == []
    for hidden in (free, both):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            views.show(world.context(), world.caller(brand_ids=("brd_a",)), api.JobId(id=hidden.job_id))


def test_another_accounts_job_is_not_found(world: World) -> None:
    job = image(world)
    stranger = type(world)(world.database)
    assert newest(stranger) == []
    with pytest.raises(ApiError, match="NOT_FOUND"):
        views.show(stranger.context(), stranger.caller(), api.JobId(id=job.job_id))


def test_deleted_media_is_null_and_the_job_stays(world: World) -> None:
    job = image(world)
    world.media.kept.clear()
    result = views.show(world.context(), world.caller(), api.JobId(id=job.job_id))
    assert (result.media, result.job.status, result.job.media_id) == (None, "completed", job.media_id)


def test_without_a_free_slot_a_call_is_refused_before_it_is_charged(world: World) -> None:
    context = world.context(live_calls=1)
    with (
        context.live_call(),
        pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"),
        context.live_call(),
    ):
        pytest.fail("there was no place")
