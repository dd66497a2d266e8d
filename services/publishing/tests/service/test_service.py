"""The main paths through the bus, with HTTP calls to the simulator."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError

PHOTO = "http://media.posthaste.test/media/photo-1080x1080.jpg"


def test_a_post_is_published_at_once_and_a_repeat_gets_the_same_one(publishing: Any, simulator: Any) -> None:
    page, operation = publishing.page(), new_id("op")
    result = publishing.publish(page, operation, message="hello", first_comment="first!")
    assert (result.status, result.was_published) == ("published", True)
    again = publishing.publish(page, operation, message="hello", first_comment="first!")
    assert again.post_id == result.post_id
    [post] = simulator.posts(page.account_id)
    assert post["id"] == result.platform_post_id
    end = time.monotonic() + 10
    while not (comments := simulator.posts(page.account_id)[0]["comments"]):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert [comment["text"] for comment in comments] == ["first!"]


def test_the_calls_and_loops_of_a_process_share_one_context_and_so_one_lease(publishing: Any) -> None:
    """All loops ask for the context when the process starts, before it is made."""
    publishing.publish(publishing.page())
    engine = create_engine(publishing.service.env["DATABASE_URL"])
    with engine.connect() as connection:
        workers = connection.execute(text("SELECT id FROM workers")).all()
    engine.dispose()
    assert len(workers) == 1


def test_a_photo_behind_a_url_is_made_to_fit(publishing: Any, simulator: Any, media_service: Any) -> None:
    """Facebook takes photos of at most 4 MiB."""
    page, url = publishing.page(), PHOTO.replace(".jpg", "-9mb.jpg")
    result = publishing.publish(page, message="look", media_urls=(url,))
    assert result.media == (api.MediaItem(src=url, type="photo"),)
    [post] = simulator.posts(page.account_id)
    [medium] = post["media"]
    assert (medium["type"], medium["bytes"] < 4 * 2**20) == ("photo", True)


def test_a_publish_with_a_url_is_refused_while_the_media_service_is_away(
    publishing: Any, simulator: Any
) -> None:
    page = publishing.page()
    with pytest.raises(ApiError) as refusal:
        publishing.publish(page, message="look", media_urls=(PHOTO,))
    assert (refusal.value.code, simulator.posts(page.account_id)) == ("SERVICE_UNAVAILABLE", [])


def test_a_refusal_of_the_platform_is_told_and_the_next_try_may_run(publishing: Any, simulator: Any) -> None:
    page, operation = publishing.page(), new_id("op")
    simulator.fault("publish", "reject")
    with pytest.raises(ApiError) as refusal:
        publishing.publish(page, operation)
    assert refusal.value.code == "PLATFORM_REJECTED"
    assert refusal.value.extras["platform_error"]["retryable"] is False
    assert publishing.publish(page, operation, try_number=2).was_published
    assert len(simulator.posts(page.account_id)) == 1


def test_an_outcome_that_is_not_known_is_looked_up_and_nothing_is_sent_twice(
    publishing: Any, simulator: Any
) -> None:
    page, operation = publishing.page(), new_id("op")
    simulator.fault("publish", "drop_after_accept")
    with pytest.raises(ApiError) as unknown:
        publishing.publish(page, operation)
    assert unknown.value.code == "PLATFORM_OUTCOME_UNKNOWN"
    post_id = unknown.value.extras["post_id"]
    with pytest.raises(ApiError) as running:
        publishing.publish(page, operation)
    assert (running.value.code, running.value.extras["post_id"]) == ("POST_IN_PROGRESS", post_id)
    publishing.until(post_id, "published")
    assert publishing.publish(page, operation).post_id == post_id
    assert len(simulator.posts(page.account_id)) == 1


def test_a_killed_service_sends_every_due_post_once(publishing: Any, simulator: Any) -> None:
    pages = [publishing.page(brand=f"brd_{n}") for n in range(6)]
    start = datetime.now(UTC) + timedelta(minutes=11)
    posts = [
        publishing.service.schedule_post(
            publishing.caller(),
            api.SchedulePost(page_id=page.id, scheduled_at=start + timedelta(minutes=n), message=f"post {n}"),
        )
        for page in pages
        for n in range(5)
    ]
    simulator.fault("publish", "slow", times=3)
    simulator.fault("publish", "drop_after_accept", times=3)
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda post: publishing.service.bring_post_due(operator(), api.PostId(id=post.id)), posts
            )
        )
    publishing.service.kill()
    publishing.service.restart()
    for post in posts:
        publishing.until_published(post.id, seconds=100)
    for page in pages:
        assert sorted(post["text"] for post in simulator.posts(page.account_id)) == [
            f"post {n}" for n in range(5)
        ]
