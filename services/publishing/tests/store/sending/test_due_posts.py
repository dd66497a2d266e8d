"""The due worker on a real database: the order of posts, sending them once, and guardrails when they are sent."""

import threading
from collections.abc import Callable
from typing import Any

from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from testkit.waiting import until


def test_due_posts_of_a_page_go_out_in_scheduled_order(world: World, platform: FakePlatform) -> None:
    page = world.page()
    world.fill(page, 10)
    world.shift(3600)
    world.send()
    assert platform.messages == [f"{page.id} {n}" for n in range(10)]
    assert world.events() == ["post.published"] * 10
    assert {row.state for row in world.ask("SELECT state FROM posts")} == {"published"}
    assert {row.outcome for row in world.ask("SELECT outcome FROM attempts")} == {"published"}


def test_a_post_that_is_not_due_stays_queued(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    world.schedule(world.page(), world.in_minutes(11))
    assert due_posts.publish_due_posts(app) == 0
    assert platform.posts == []


def test_two_workers_on_the_same_due_rows_send_each_post_once_and_in_order(
    world: World, make_app: Callable[..., SendingContext], platform: FakePlatform
) -> None:
    pages = [world.page(brand=f"brd_{n % 3}") for n in range(12)]
    for page in pages:
        world.fill(page, 5)
    world.shift(3600)
    threads = [
        threading.Thread(target=world.send, args=(make_app(page_queues=4, posts_per_queue=2),))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    def all_are_out() -> bool:
        world.send()  # finds nothing while a worker still claims the posts of a brand
        return len(platform.messages) >= 60

    until(all_are_out)
    assert len(platform.messages) == 60
    for page in pages:
        mine = [message for message in platform.messages if message.startswith(page.id)]
        assert mine == [f"{page.id} {n}" for n in range(5)]


def test_a_queue_told_to_stop_ends_its_post_and_gives_back_the_others(
    world: World, app: SendingContext, make_app: Callable[..., SendingContext], platform: FakePlatform
) -> None:
    page, publish = world.page(), platform.publish
    world.fill(page, 3)
    world.shift(3600)

    has_begun = threading.Event()

    def told_meanwhile(*args: Any) -> Any:
        app.is_stopping = True
        has_begun.set()
        return publish(*args)

    platform.publish = told_meanwhile
    assert due_posts.publish_due_posts(app) == 3
    assert has_begun.wait(30)
    app.finish()
    assert platform.messages == [f"{page.id} 0"]
    assert [row.state for row in world.ask("SELECT state FROM posts ORDER BY id")] == [
        "published",
        "queued",
        "queued",
    ]
    world.send(make_app())
    assert platform.messages == [f"{page.id} {n}" for n in range(3)]


def test_a_stopping_worker_waits_for_a_call_that_goes_on_after_its_answer(app: SendingContext) -> None:
    end = threading.Thread(target=app.finish)
    with app.live_call("usr_a"):
        end.start()
        until(lambda: app.is_stopping)
        end.join(0.2)
        assert end.is_alive()
    end.join(30)
    assert not end.is_alive()


def test_a_post_found_due_more_than_a_day_late_is_not_sent(world: World, platform: FakePlatform) -> None:
    page = world.page()
    early, late = world.fill(page, 2)
    world.run("UPDATE posts SET out_at = clock_now() - interval '25 hours' WHERE id = :id", id=early.id)
    world.run("UPDATE posts SET out_at = clock_now() - interval '23 hours' WHERE id = :id", id=late.id)
    world.send()
    assert platform.messages == [f"{page.id} 1"]
    assert world.state(early.id).error_code == "PUBLISH_WINDOW_MISSED"
    assert "Retry the post to send it now" in world.state(early.id).error_message
    assert sorted(world.events()) == ["post.failed", "post.published"]


def test_posts_that_break_a_cap_are_put_off_until_they_fit_and_keep_their_order(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    world.fill(page, 10)
    extra = [world.schedule(page, world.in_minutes(75 + n), f"{page.id} {10 + n}") for n in range(2)]
    world.shift(3 * 3600)
    world.send()
    assert len(platform.posts) == 10
    now = world.now()
    waits = [(world.state(post.id).out_at - now).total_seconds() for post in extra]
    assert all(3590 < wait <= 3600 for wait in waits)
    assert waits[0] <= waits[1]
    world.shift(3590)
    world.send()
    assert len(platform.posts) == 10
    world.shift(20)
    world.send()
    assert platform.messages == [f"{page.id} {n}" for n in range(12)]
