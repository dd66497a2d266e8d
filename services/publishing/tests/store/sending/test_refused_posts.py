"""What the due worker does after a refusal: retries, pauses of rate-limited pages, and failures."""

from datetime import timedelta

from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.meta.errors import refusal_from
from publishing.posts import retry
from publishing.sending.context import SendingContext
from publishing.store.sending import Sending


def test_a_retryable_refusal_comes_again_after_1_5_and_15_minutes_and_then_fails(
    world: World, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [PlatformRefusal(Refusal.TRANSIENT, "2", "try later") for _ in range(4)]
    for attempt, wait in enumerate((60, 300, 900), 1):
        world.send()
        row = world.state(post.id)
        assert (row.state, row.attempts) == ("queued", attempt)
        assert abs((row.out_at - world.now()).total_seconds() - wait) < 5
        world.shift(wait - 10)
        world.send()
        assert world.state(post.id).attempts == attempt
        world.shift(10)
    world.send()
    row = world.state(post.id)
    assert (row.state, row.attempts, row.error_code) == ("failed", 4, "PLATFORM_REJECTED")
    assert platform.posts == []
    assert world.events() == ["post.failed"]


def test_a_longer_wait_of_the_platform_is_honoured(world: World, platform: FakePlatform) -> None:
    post = world.due_post()
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "4", "slow down", wait_seconds=1800)]
    world.send()
    assert abs((world.state(post.id).out_at - world.now()).total_seconds() - 1800) < 5


def test_a_limited_page_rests_as_long_as_the_platform_says_and_others_do_not(
    world: World, platform: FakePlatform
) -> None:
    pages = [world.page(), world.page()]
    for page in pages:
        world.fill(page, 3)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "4", "slow down", wait_seconds=1800)]
    world.send()
    in_order = [[f"{page.id} {n}" for n in range(3)] for page in pages]
    assert platform.messages in in_order
    limited = next(messages for messages in in_order if messages != platform.messages)
    platform.posts.clear()
    world.shift(1790)
    world.send()
    assert platform.messages == []
    world.shift(11)
    world.send()
    assert platform.messages == limited
    assert sorted(row.attempts for row in world.ask("SELECT attempts FROM posts")) == [1, 1, 1, 1, 1, 2]


def test_a_limited_page_rests_although_one_of_its_posts_is_being_changed(world: World) -> None:
    page = world.page()
    first, second = world.fill(page, 2)
    with world.database.transaction() as other, world.database.transaction() as connection:
        other.exec_driver_sql(f"SELECT FROM posts WHERE id = '{first.id}' FOR UPDATE")
        assert Sending(connection).put_off_page(page.id, 7200) == 1
    assert world.state(second.id).out_at > world.state(first.id).out_at + timedelta(minutes=60)


def test_a_wait_of_odd_length_ends_on_a_whole_millisecond_and_no_sooner(
    world: World, platform: FakePlatform
) -> None:
    world.fill(world.page("LN"), 3)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.RATE_LIMITED, "429", "slow down", wait_seconds=1800.000345)]
    before = world.now()
    world.send()
    ends = [row.out_at for row in world.ask("SELECT out_at FROM posts")]
    assert [at.microsecond % 1000 for at in ends] == [0] * 3
    assert min(ends) > before + timedelta(seconds=1800)


def test_a_limit_by_meta_without_a_wait_costs_one_call_and_no_post(
    world: World, platform: FakePlatform
) -> None:
    world.fill(world.page(), 3)
    world.shift(3600)
    platform.script = [refusal_from({"code": 32}, {}) for _ in range(20)]
    for _ in range(5):
        world.send()
        world.shift(300)
    assert len(platform.script) == 19
    assert {row.state for row in world.ask("SELECT state FROM posts")} == {"queued"}


def test_a_limit_that_lasts_a_day_is_outlasted(world: World, platform: FakePlatform) -> None:
    page = world.page()
    world.fill(page, 2)
    world.shift(3600)
    limit = refusal_from({"code": 9, "error_subcode": 2207042}, {})
    platform.script = [limit] * 3
    began = world.now()
    for _ in range(3):
        world.send()
        world.shift(limit.wait_seconds)
    assert 23 * 3_600 < (world.now() - began).total_seconds() < 24 * 3_600
    world.send()
    assert platform.messages == [f"{page.id} {n}" for n in range(2)]


def test_a_post_waiting_for_a_retry_does_not_hold_up_the_next(world: World, platform: FakePlatform) -> None:
    page = world.page()
    world.fill(page, 2)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.TRANSIENT, "2", "try later")]
    world.send()
    assert platform.messages == [f"{page.id} 1"]


def test_a_manual_retry_has_a_fresh_budget(world: World, app: SendingContext, platform: FakePlatform) -> None:
    post = world.due_post()
    platform.script = [
        PlatformRefusal(Refusal.REJECTED, "100", "no"),
        PlatformRefusal(Refusal.TRANSIENT, "2", "later"),
    ]
    world.send()
    assert world.state(post.id).state == "failed"
    again = retry.retry(app, world.caller(), api.PostId(id=post.id))
    assert (again.status, again.scheduled_at) == ("queued", post.scheduled_at)
    world.send()
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("queued", 2)
    world.shift(60)
    world.send()
    assert world.state(post.id).state == "published"


def test_a_permanent_refusal_fails_at_once_whatever_the_platform_says(
    world: World, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "bad\0 text \ud800")]
    world.send()
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("failed", 1)
    assert world.events() == ["post.failed"]


def test_an_expired_page_fails_its_due_posts_and_is_marked(world: World, platform: FakePlatform) -> None:
    world.fill(world.page(), 3)
    world.shift(3600)
    platform.script = [PlatformRefusal(Refusal.EXPIRED, "190", "expired")]
    world.send()
    failed = world.ask("SELECT error_code, error_message FROM posts")
    assert [row.error_code for row in failed] == ["PAGE_EXPIRED"] * 3
    assert all("Reconnect the page, then retry the post." in row.error_message for row in failed)
    assert max(row.error_message for row in failed).startswith("expired (190). ")
    assert world.ask("SELECT expired FROM pages")[0].expired
    assert platform.posts == []
    assert len(world.ask("SELECT * FROM attempts")) == 1
    assert world.events() == ["page.expired", *["post.failed"] * 3]
