"""A refused try frees its client's key. An earlier try that still runs must store nothing after that."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ApiError
from publishing.comments import replies
from publishing.pages import unlinking
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import cancellation, edits, publish_now, retry, schedule, several_pages
from publishing.sending.context import SendingContext
from publishing.store.received import Received


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(ApiError) as refusal:
        call()
    return refusal.value.code


def overtake(
    world: World, before_it_stores: Any, write: Callable[[Caller], Any], break_rule: Callable[[], Any]
) -> None:
    """Runs a second try, which is refused, after the first try has passed all checks. Then lets the first try go on."""

    def refused_try() -> None:
        break_rule()
        assert code_of(lambda: write(world.caller("op", 2))) == "PAGE_EXPIRED"
        world.run("UPDATE pages SET expired = false")

    with before_it_stores(refused_try):
        assert code_of(lambda: write(world.caller("op"))) == "IDEMPOTENCY_IN_PROGRESS"


@pytest.fixture
def page(world: World) -> api.Page:
    found: api.Page = world.page()
    return found


@pytest.fixture
def expire(world: World) -> Callable[[], None]:
    return lambda: world.run("UPDATE pages SET expired = true")


def test_a_schedule_whose_later_try_was_refused_queues_nothing(
    world: World, app: SendingContext, page: api.Page, expire: Any, before_it_stores: Any
) -> None:
    request = api.SchedulePost(page_id=page.id, scheduled_at=world.in_minutes(20), message="hello")
    overtake(world, before_it_stores, lambda caller: schedule.schedule(app, caller, request), expire)
    assert world.ask("SELECT FROM posts") == []


def test_a_publish_whose_later_try_was_refused_sends_nothing(
    world: World,
    app: SendingContext,
    page: api.Page,
    platform: FakePlatform,
    expire: Any,
    before_it_stores: Any,
) -> None:
    request = api.PublishPost(page_id=page.id, message="hello")
    overtake(world, before_it_stores, lambda caller: publish_now.publish(app, caller, request), expire)
    assert (world.ask("SELECT FROM posts"), platform.posts) == ([], [])


def test_an_edit_whose_later_try_was_refused_changes_nothing(
    world: World, app: SendingContext, page: api.Page, expire: Any, before_it_stores: Any
) -> None:
    post = world.schedule(page, world.in_minutes(20), message="old")
    request = api.EditPost(id=post.id, message="new")
    overtake(world, before_it_stores, lambda caller: edits.edit(app, caller, request), expire)
    assert world.state(post.id).message == "old"


def test_a_retry_whose_later_try_was_refused_queues_nothing(
    world: World, app: SendingContext, page: api.Page, expire: Any, before_it_stores: Any
) -> None:
    post = world.schedule(page, world.in_minutes(20))
    world.run("UPDATE posts SET state = 'failed', out_at = NULL")
    asked = api.PostId(id=post.id)
    overtake(world, before_it_stores, lambda caller: retry.retry(app, caller, asked), expire)
    assert world.state(post.id).state == "failed"


def test_a_reply_whose_later_try_was_refused_sends_nothing(
    world: World,
    app: SendingContext,
    page: api.Page,
    platform: FakePlatform,
    expire: Any,
    before_it_stores: Any,
) -> None:
    post = world.published(page)
    with world.database.transaction() as connection:
        Received(connection).add(post.post_id, ["r1"])
        comment = Received(connection).known(post.post_id, ["r1"])["r1"]
    request = api.ReplyToComment(page_id=page.id, comment_id=comment.id, message="thanks")
    overtake(world, before_it_stores, lambda caller: replies.reply(app, caller, request), expire)
    assert (world.ask("SELECT FROM replies"), platform.comments) == ([], [])


@pytest.mark.parametrize("page_count", [1, 2])
def test_of_several_pages_none_gets_a_post_once_a_later_try_was_refused(
    world: World, app: SendingContext, before_it_stores: Any, page_count: int
) -> None:
    plan = tuple(api.PlannedPage(page_id=world.page().id, operation_id=f"op_{n}") for n in range(page_count))
    request = api.SchedulePosts(pages=plan, scheduled_at=world.in_minutes(11), message="hello")

    def late_try() -> None:
        world.shift(120)
        late = lambda: several_pages.schedule_on_pages(app, world.caller("op", 2), request)  # noqa: E731
        assert code_of(late) == "SCHEDULE_OUT_OF_RANGE"

    with before_it_stores(late_try):
        results = several_pages.schedule_on_pages(app, world.caller("op"), request)
    assert all(result.error for result in results.results)
    assert world.ask("SELECT FROM posts") == []


def test_a_cancellation_whose_later_try_was_refused_cancels_nothing(
    world: World, app: SendingContext, page: api.Page, before_it_stores: Any
) -> None:
    post = world.schedule(page, world.in_minutes(20))
    asked = api.PostId(id=post.id)

    def late_try() -> None:
        world.run("UPDATE posts SET state = 'sending'")
        assert code_of(lambda: cancellation.cancel(app, world.caller("op", 2), asked)) == "POST_IN_PROGRESS"
        world.run("UPDATE posts SET state = 'queued'")

    with before_it_stores(late_try):
        first = lambda: cancellation.cancel(app, world.caller("op"), asked)  # noqa: E731
        assert code_of(first) == "IDEMPOTENCY_IN_PROGRESS"
    assert world.state(post.id).state == "queued"


def test_an_unlink_whose_later_try_was_refused_takes_no_page_away(
    world: World, app: SendingContext, page: api.Page, before_it_stores: Any
) -> None:
    asked = api.UnlinkPage(id=page.id)

    def late_try() -> None:
        post = world.schedule(page, world.in_minutes(20))
        assert code_of(lambda: unlinking.unlink(app, world.caller("op", 2), asked)) == "PAGE_IN_USE"
        cancellation.cancel(app, world.caller(), api.PostId(id=post.id))

    with before_it_stores(late_try):
        first = lambda: unlinking.unlink(app, world.caller("op"), asked)  # noqa: E731
        assert code_of(first) == "IDEMPOTENCY_IN_PROGRESS"
    assert world.ask("SELECT FROM pages WHERE unlinked_at IS NOT NULL") == []


def test_a_platform_s_refusal_ends_the_operation_for_earlier_tries(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform, before_it_stores: Any
) -> None:
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    request = api.PublishPost(page_id=page.id, message="hello")

    def late_try() -> None:
        later = lambda: publish_now.publish(app, world.caller("op", 2), request)  # noqa: E731
        assert code_of(later) == "PLATFORM_REJECTED"

    with before_it_stores(late_try):
        first = lambda: publish_now.publish(app, world.caller("op"), request)  # noqa: E731
        assert code_of(first) == "IDEMPOTENCY_IN_PROGRESS"
    assert platform.posts == []
    assert publish_now.publish(app, world.caller("op", 3), request).was_published


def test_a_page_that_has_no_unit_by_now_gets_no_post_from_an_earlier_try(
    world: World, app: SendingContext
) -> None:
    plan = tuple(api.PlannedPage(page_id=world.page().id, operation_id=f"op_{n}") for n in range(2))
    at = world.in_minutes(20)
    all_go = api.SchedulePosts(pages=plan, scheduled_at=at, message="hello")
    held = replace(all_go, pages=(plan[0], replace(plan[1], goes=False)))
    later = several_pages.schedule_on_pages(app, world.caller("op", 2), held)
    first = several_pages.schedule_on_pages(app, world.caller("op"), all_go)
    assert [result.page_id for result in later.results] == [plan[0].page_id]
    assert [result.status for result in first.results] == [201, 409]
    assert len(world.ask("SELECT FROM posts")) == 1


def test_a_page_that_has_no_unit_by_now_is_answered_with_what_an_earlier_try_has_made(
    world: World, app: SendingContext
) -> None:
    plan = tuple(api.PlannedPage(page_id=world.page().id, operation_id=f"op_{n}") for n in range(2))
    request = api.SchedulePosts(pages=plan, scheduled_at=world.in_minutes(20), message="hello")
    first = several_pages.schedule_on_pages(app, world.caller("op"), request)
    held = replace(request, pages=(plan[0], replace(plan[1], goes=False)))
    assert several_pages.schedule_on_pages(app, world.caller("op", 2), held) == first
