"""Posts with unknown outcomes are looked up at the platform and not sent again."""

from datetime import timedelta

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.platforms.base import OutcomeUnknown
from publishing.posts import cancellation, edits, retry
from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from publishing.store.sending import AttemptOutcome, Claim


def test_an_unknown_outcome_is_looked_up_and_not_sent_again(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    post = world.due_post()
    platform.script = [platform.keep(OutcomeUnknown("dropped"))]
    world.send()
    assert world.state(post.id).state == "unknown"
    assert due_posts.publish_due_posts(app) == 0
    world.look()
    row = world.state(post.id)
    assert (row.state, row.remote_id) == ("published", platform.posts[0][0])
    assert len(platform.posts) == 1
    assert world.events() == ["post.published"]


def test_an_unknown_outcome_is_looked_up_in_time_while_its_page_s_queue_goes_on(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    first, _ = world.fill(world.page(), 2)
    world.shift(3600)
    platform.script = [OutcomeUnknown("dropped")]
    platform.before = lambda message: app.lease.renew()
    world.send()
    assert platform.messages == [f"{first.page_id} 1"]
    [look] = world.ask("SELECT lease_until - clock_timestamp() AS wait FROM posts WHERE state = 'unknown'")
    assert look.wait.total_seconds() <= app.settings.reconcile_first_seconds


def test_not_found_is_believed_only_after_the_settling_time(world: World, platform: FakePlatform) -> None:
    post = world.due_post()
    platform.script = [OutcomeUnknown("never arrived")]
    world.send()
    world.look(after_seconds=80)
    assert world.state(post.id).state == "unknown"
    world.look(after_seconds=90)
    row = world.state(post.id)
    assert (row.state, row.attempts) == ("queued", 1)
    assert world.ask("SELECT outcome FROM attempts")[0].outcome == "not_published"
    world.send()  # the minute after the first attempt has long passed
    assert (world.state(post.id).state, world.state(post.id).attempts) == ("published", 2)
    assert len(platform.posts) == 1


def test_two_posts_with_the_same_words_are_not_taken_for_each_other(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    at = world.in_minutes(11)
    first = world.schedule(page, at, "same words")
    second = world.schedule(page, at + timedelta(minutes=1), "same words")
    world.shift(3600)
    platform.script = [OutcomeUnknown("never arrived")]
    world.send()
    assert (world.state(first.id).state, world.state(second.id).state) == ("unknown", "published")
    world.look()
    assert world.state(first.id).state == "unknown"


def test_a_post_found_by_a_look_up_is_not_taken_while_an_equal_one_is_being_sent(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    page = world.page()
    at = world.in_minutes(11)
    first = world.schedule(page, at, "same words")
    world.schedule(page, at + timedelta(minutes=1), "same words")
    world.shift(3600)
    [(_, [one, two])], _ = due_posts.claim_queues(app, 1)
    app.outcomes.write(begin=Claim(one.id, one.fence))
    unknown = AttemptOutcome(id=one.id, fence=one.fence, state="unknown", outcome=None, wait_seconds=5)
    app.outcomes.write(unknown, Claim(two.id, two.fence))
    platform.posts.append(("of the second", "same words"))
    world.look()
    assert world.state(first.id).state == "unknown"


def test_a_post_that_is_being_sent_can_be_neither_cancelled_nor_edited(
    world: World, app: SendingContext
) -> None:
    post = world.due_post()
    due_posts.claim_queues(app, 1)
    for change in (
        lambda: cancellation.cancel(app, world.caller(), api.PostId(id=post.id)),
        lambda: edits.edit(app, world.caller(), api.EditPost(id=post.id, message="new")),
        lambda: retry.retry(app, world.caller(), api.PostId(id=post.id)),
    ):
        with pytest.raises(ApiError) as refusal:
            change()
        assert refusal.value.code == "POST_IN_PROGRESS"
