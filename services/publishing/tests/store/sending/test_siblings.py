"""One page of a platform that two brands or accounts have linked: it has one queue, and its guardrails and look-ups
count the posts of both.
"""

import threading
from datetime import timedelta
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts.errors import ApiError
from contracts.platforms import PLATFORMS
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from publishing.store.sending import Claim


@pytest.fixture
def pair(world: World) -> tuple[Any, Any]:
    """The same page of the platform in two brands."""
    return world.page(remote="remote_1"), world.page(brand="brd_b", remote="remote_1")


def test_a_schedule_counts_what_is_queued_on_the_sibling(world: World, pair: Any) -> None:
    one, other = pair
    cap = PLATFORMS["FB"].per_hour
    world.fill(one, cap)
    with pytest.raises(ApiError) as refusal:
        world.schedule(other, world.in_minutes(11) + timedelta(minutes=cap))
    assert refusal.value.code == "PAGE_PUBLISH_GUARDRAIL"
    world.schedule(world.page(brand="brd_b"), world.in_minutes(11) + timedelta(minutes=cap))


def test_the_gap_between_scheduled_posts_holds_across_siblings(world: World, pair: Any) -> None:
    one, other = pair
    at = world.in_minutes(20)
    world.schedule(one, at)
    with pytest.raises(ApiError) as refusal:
        world.schedule(other, at + timedelta(seconds=30))
    assert refusal.value.code == "PAGE_PUBLISH_GUARDRAIL"
    world.schedule(other, at + timedelta(seconds=60))


def test_a_publish_at_once_counts_what_went_out_on_the_sibling(world: World, pair: Any) -> None:
    one, other = pair
    for _ in range(PLATFORMS["FB"].per_hour):
        world.published(one)
    with pytest.raises(ApiError) as refusal:
        world.published(other)
    assert refusal.value.code == "PAGE_PUBLISH_GUARDRAIL"


def test_what_breaks_a_cap_of_the_platforms_page_is_put_off(
    world: World, pair: Any, platform: FakePlatform
) -> None:
    one, other = pair
    cap = PLATFORMS["FB"].per_hour
    waiting = world.schedule(other, world.in_minutes(11 + 75))
    world.fill(one, cap)
    world.shift(3 * 3600)
    world.send()
    assert len(platform.posts) == cap
    queued = [row.out_at for row in world.ask("SELECT out_at FROM posts WHERE state = 'queued'")]
    assert len(queued) == 1
    assert queued[0] > world.now() + timedelta(minutes=55)
    assert waiting.id


def test_siblings_have_one_queue(
    world: World, pair: Any, app: SendingContext, platform: FakePlatform
) -> None:
    one, other = pair
    world.schedule(one, world.in_minutes(11), "first")
    world.schedule(other, world.in_minutes(13), "second")
    third = world.schedule(world.page(brand="brd_b"), world.in_minutes(14), "another page's")
    world.shift(3600)
    claimed, _ = due_posts.claim_queues(app, 8)
    assert {page.id for page, _ in claimed} == {one.id, third.page_id}
    assert due_posts.claim_queues(app, 8) == ([], 0)
    for page, posts in claimed:
        due_posts.send_queue(app, page, posts)
    world.send()
    assert platform.messages[-1] == "second"
    assert len(platform.messages) == 3


def test_a_busy_sibling_takes_no_place_of_another_page(world: World, pair: Any, app: SendingContext) -> None:
    one, other = pair
    world.schedule(one, world.in_minutes(11), "first")
    world.schedule(other, world.in_minutes(13), "second")
    third = world.schedule(world.page(brand="brd_b"), world.in_minutes(14), "another page's")
    world.shift(3600)
    due_posts.claim_queues(app, 1)
    [(page, _)], _ = due_posts.claim_queues(app, 1)
    assert page.id == third.page_id


def test_two_schedules_on_siblings_at_the_same_moment_do_not_both_fit_into_the_last_place(
    world: World, pair: Any
) -> None:
    at, refused = world.in_minutes(20), []

    def schedule(page: Any) -> None:
        try:
            world.schedule(page, at)
        except ApiError as error:
            refused.append(error.code)

    threads = [threading.Thread(target=schedule, args=(page,)) for page in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert refused == ["PAGE_PUBLISH_GUARDRAIL"]


def test_a_look_up_does_not_take_the_siblings_post_for_its_own(
    world: World, pair: Any, platform: FakePlatform
) -> None:
    one, other = pair
    world.published(one)
    platform.script = [OutcomeUnknown("never arrived")]
    with pytest.raises(ApiError) as unknown:
        world.published(other)
    world.look()
    assert world.state(unknown.value.extras["post_id"]).state == "unknown"


def test_a_post_that_is_found_is_left_alone_while_the_siblings_twin_is_open(
    world: World, pair: Any, app: SendingContext, platform: FakePlatform
) -> None:
    one, other = pair
    first = world.schedule(one, world.in_minutes(11), "same words")
    world.schedule(other, world.in_minutes(13), "same words")
    world.shift(3600)
    [(_, [claimed])], _ = due_posts.claim_queues(app, 1)
    app.outcomes.write(begin=Claim(claimed.id, claimed.fence))
    world.lapse()
    world.recover()
    [(_, [twin])], _ = due_posts.claim_queues(app, 1)
    app.outcomes.write(begin=Claim(twin.id, twin.fence))
    platform.posts.append(("of one of them", "same words"))
    world.look()
    assert world.state(first.id).state == "unknown"


def test_a_limited_page_rests_in_all_its_brands(world: World, pair: Any, platform: FakePlatform) -> None:
    one, other = pair
    world.schedule(one, world.in_minutes(11), "first")
    world.schedule(other, world.in_minutes(13), "second")
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "4", "slow down", wait_seconds=1800)]
    world.send()
    assert platform.posts == []
    waits = [row.out_at - world.now() for row in world.ask("SELECT out_at FROM posts")]
    assert all(timedelta(seconds=1700) < wait <= timedelta(seconds=1800) for wait in waits)
