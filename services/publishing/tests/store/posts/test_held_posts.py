"""Posts of a maker who lost access are held."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.held_posts import GUEST, Scene
from publishing_kit.refusals import refused

from contracts import publishing as api
from contracts.caller import operator
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import edits, post_lists, retry
from publishing.sending import claim_recovery


def test_the_queued_posts_of_every_token_that_lost_access_are_held_and_no_others(scene: Scene) -> None:
    lost = [scene.queue(), scene.queue(scene.guest("tok_guest_before"), 40)]
    elsewhere = scene.queue(scene.guest("tok_guest_elsewhere"), 50)
    owners = scene.queue(scene.owner(), 60)
    scene.lose_access()
    assert [scene.state(post) for post in (*lost, elsewhere, owners)] == ["held", "held", "queued", "queued"]


def test_the_same_token_id_in_another_account_holds_nothing(scene: Scene) -> None:
    post = scene.queue()
    scene.lose_access(account="usr_other")
    assert scene.state(post) == "queued"


def test_a_post_whose_maker_was_not_noted_stays_queued(scene: Scene) -> None:
    post = scene.queue()
    scene.world.run("UPDATE posts SET maker_user_id = NULL, maker_token_id = NULL")
    scene.lose_access()
    assert scene.state(post) == "queued"


def test_a_held_post_shows_why_and_is_listed_by_its_status(scene: Scene) -> None:
    post, owners = scene.queue(), scene.queue(scene.owner(), 40)
    scene.lose_access()
    shown = scene.shown(post)
    assert (shown.status, shown.next_attempt_at, shown.scheduled_at) == ("held", None, post.scheduled_at)
    assert shown.hold is not None
    assert (shown.hold.reason, shown.hold.made_by) == ("collaborator_removed", GUEST)
    for caller in (scene.owner(), scene.owner(brand_ids=(scene.page.brand_id,))):
        for page_id in (None, scene.page.id):
            listed = {
                status: [
                    one.id
                    for one in post_lists.scheduled(
                        scene.world.app, caller, api.ListScheduledPosts(status=status, page_id=page_id)
                    ).scheduled_posts
                ]
                for status in ("queued", "held", "all")
            }
            assert listed == {"queued": [owners.id], "held": [post.id], "all": [post.id, owners.id]}


def test_held_posts_are_announced_by_one_event_for_each_brand(scene: Scene) -> None:
    held = [scene.queue(), scene.queue(minutes=40)]
    scene.queue(scene.owner(), 50)
    scene.lose_access()
    scene.lose_access()
    [told] = scene.told()
    assert sorted(told.pop("postIds")) == sorted(post.id for post in held)
    assert told == {
        "userId": scene.owner().account_id,
        "brandId": scene.page.brand_id,
        "reason": "collaborator_removed",
        "madeBy": msgspec.to_builtins(GUEST),
    }


def test_no_event_is_sent_when_nothing_was_held(scene: Scene) -> None:
    scene.lose_access()
    assert scene.told() == []


def test_more_posts_than_one_transaction_holds_are_all_held(scene: Scene, monkeypatch: Any) -> None:
    monkeypatch.setattr("publishing.posts.access_loss._AT_ONCE", 2)
    made = [scene.queue(minutes=20 + 5 * number) for number in range(5)]
    scene.lose_access()
    assert {scene.state(post) for post in made} == {"held"}
    assert sorted(one for told in scene.told() for one in told["postIds"]) == sorted(post.id for post in made)


def test_a_post_queued_after_the_removal_arrived_is_held_by_a_later_pass(scene: Scene) -> None:
    scene.lose_access()
    late = scene.queue()
    scene.look()
    assert scene.state(late) == "held"


def test_passes_end_once_no_earlier_call_can_still_arrive(scene: Scene) -> None:
    scene.lose_access()
    [first] = scene.world.ask("SELECT wake_at - clock_timestamp() AS wait FROM post_holds")
    assert timedelta(0) < first.wait < timedelta(seconds=2)
    scene.world.run("UPDATE post_holds SET created_at = created_at - interval '11 minutes'")
    scene.look()
    assert scene.world.ask("SELECT FROM post_holds") == []


@pytest.mark.parametrize("call", ["edit", "retry", "release", "cancel"])
def test_a_call_sent_before_its_token_was_revoked_is_refused(scene: Scene, call: str) -> None:
    post, other, guest = scene.queue(), scene.queue(scene.owner(), 40), scene.guest()
    if call == "retry":
        scene.world.run("UPDATE posts SET state = 'failed', out_at = NULL WHERE id = :id", id=other.id)
    scene.lose_access()
    app = scene.world.app
    calls = {
        "edit": lambda: edits.edit(app, guest, api.EditPost(id=other.id, message="new")),
        "retry": lambda: retry.retry(app, guest, api.PostId(id=other.id)),
        "release": lambda: scene.release(guest),
        "cancel": lambda: scene.cancel(guest),
    }
    assert refused(calls[call]).code == "TOKEN_REVOKED"
    assert scene.state(post) == "held"


def test_a_held_post_is_not_sent(scene: Scene, platform: FakePlatform) -> None:
    scene.queue(minutes=11)
    scene.lose_access()
    scene.world.shift(700)
    scene.world.send()
    assert platform.posts == []


def test_a_post_that_is_being_sent_goes_out_and_is_not_held(scene: Scene, platform: FakePlatform) -> None:
    post = scene.queue(minutes=11)
    scene.world.shift(700)
    platform.before = lambda message: scene.lose_access()
    scene.world.send()
    assert (scene.state(post), len(platform.posts)) == ("published", 1)
    assert scene.told() == []


@pytest.mark.parametrize(
    "problem", [PlatformRefusal(Refusal.TRANSIENT, "1", "later"), OutcomeUnknown("no answer")]
)
def test_a_post_that_was_being_sent_and_did_not_go_out_is_held_before_its_next_attempt(
    scene: Scene, platform: FakePlatform, problem: Exception
) -> None:
    post = scene.queue(minutes=11)
    scene.world.shift(700)
    platform.script, platform.before = [problem], lambda message: scene.lose_access()
    scene.world.send()
    platform.before = lambda message: None
    scene.world.look(after_seconds=100)
    scene.world.run("UPDATE post_holds SET created_at = created_at - interval '1 day'")
    scene.look()
    scene.world.run("UPDATE posts SET out_at = clock_now() WHERE state = 'queued'")
    scene.world.send()
    assert (scene.state(post), platform.posts) == ("held", [])
    assert [told["postIds"] for told in scene.told()] == [[post.id]]


def test_a_post_that_was_claimed_and_not_begun_is_held(scene: Scene, platform: FakePlatform) -> None:
    """The maker loses access while the page's earlier post is being sent, which takes long."""
    first, second = scene.queue(scene.owner(), 11), scene.queue(minutes=13)
    scene.world.shift(800)
    platform.before = lambda message: scene.lose_access()
    scene.world.send()
    platform.before = lambda message: None
    assert (scene.state(first), len(platform.posts)) == ("published", 1)
    claim_recovery.recover_lost_claims(scene.world.app)
    scene.world.send()
    assert (scene.state(second), len(platform.posts)) == ("held", 1)
    assert [told["postIds"] for told in scene.told()] == [[second.id]]


def test_a_post_belongs_to_its_last_editor(scene: Scene) -> None:
    vouched_for, tampered_with = scene.queue(), scene.queue(scene.owner(), 40)
    app = scene.world.app
    edits.edit(app, scene.owner(), api.EditPost(id=vouched_for.id, message="checked"))
    edits.edit(app, scene.guest(), api.EditPost(id=tampered_with.id, message="buy!"))
    scene.lose_access()
    assert (scene.state(vouched_for), scene.state(tampered_with)) == ("queued", "held")


def test_a_failed_post_belongs_to_whoever_retries_it(scene: Scene) -> None:
    post = scene.queue()
    scene.world.run("UPDATE posts SET state = 'failed', out_at = NULL")
    retry.retry(scene.world.app, scene.owner(), api.PostId(id=post.id))
    scene.lose_access()
    assert scene.state(post) == "queued"


def test_a_change_of_the_time_by_the_operator_takes_nothing_over(scene: Scene) -> None:
    post = scene.queue()
    retry.bring_due(scene.world.app, operator(), api.PostId(id=post.id))
    scene.lose_access()
    assert scene.state(post) == "held"
    error = refused(retry.bring_due, scene.world.app, operator(), api.PostId(id=post.id))
    assert error.code == "NOT_FOUND"
