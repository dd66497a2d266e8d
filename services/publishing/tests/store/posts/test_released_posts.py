"""Somebody else releases or cancels held posts."""

from typing import Any

import pytest
from msgspec.structs import replace
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.held_posts import Scene
from publishing_kit.refusals import refused

from chassis.ids import new_id
from contracts import publishing as api
from publishing.pages import unlinking
from publishing.posts import cancellation, edits


def test_a_released_post_goes_out_at_its_time(scene: Scene, platform: FakePlatform) -> None:
    post = scene.queue()
    scene.lose_access()
    assert scene.release() == api.PostsReleased(released=(post.id,))
    shown = scene.shown(post)
    assert (shown.status, shown.hold, shown.next_attempt_at) == ("queued", None, post.scheduled_at)
    scene.world.send()
    assert platform.posts == []
    scene.world.shift(1_900)
    scene.world.send()
    assert len(platform.posts) == 1


def test_a_released_post_belongs_to_whoever_released_it(scene: Scene) -> None:
    post = scene.queue()
    scene.lose_access()
    scene.release()
    scene.look()
    scene.lose_access()
    assert scene.state(post) == "queued"
    scene.lose_access("tok_owner", reason="token_revoked")
    assert scene.state(post) == "held"
    hold = scene.shown(post).hold
    assert hold is not None
    assert (hold.reason, hold.made_by.token_id) == ("token_revoked", "tok_owner")


@pytest.mark.parametrize(("call", "outcome"), [("release", "released"), ("cancel", "cancelled")])
def test_an_event_for_each_maker_names_who_ended_the_hold(scene: Scene, call: str, outcome: str) -> None:
    made = [scene.queue(), scene.queue(scene.guest("tok_guest_before"), 40)]
    kept = scene.queue(minutes=50)
    scene.lose_access()
    act, owner = getattr(scene, call), scene.owner(operation_id=new_id("op"))
    for _ in range(2):
        act(owner, post_ids=tuple(post.id for post in made))
    common = {
        "brand_id": scene.page.brand_id,
        "outcome": outcome,
        "by": {"user_id": owner.user_id, "token_id": "tok_owner"},
    }
    assert scene.told("posts.hold.ended") == [
        common | {"made_by": {"user_id": "usr_guest", "token_id": token_id}, "post_ids": [post.id]}
        for token_id, post in zip(("tok_guest", "tok_guest_before"), made, strict=True)
    ]
    assert scene.state(kept) == "held"


def test_cancelling_a_single_held_post_sends_the_event(scene: Scene) -> None:
    held, queued = scene.queue(), scene.queue(scene.owner(), 40)
    scene.lose_access()
    for post in (held, queued):
        cancellation.cancel(scene.world.app, scene.owner(), api.PostId(id=post.id))
    [told] = scene.told("posts.hold.ended")
    assert (told["outcome"], told["post_ids"]) == ("cancelled", [held.id])


def test_a_release_of_nothing_sends_no_event(scene: Scene) -> None:
    scene.queue(minutes=11)
    scene.lose_access()
    scene.world.shift(700)
    assert scene.release().released == ()
    assert scene.told("posts.hold.ended") == []


def test_a_collaborator_added_again_queues_new_posts_and_the_held_ones_stay_held(scene: Scene) -> None:
    old = scene.queue()
    scene.lose_access()
    new = scene.queue(scene.guest("tok_new"), 40)
    scene.look()
    assert (scene.state(old), scene.state(new)) == ("held", "queued")


def test_a_post_whose_time_has_passed_stays_held_unless_it_may_go_out_now(
    scene: Scene, platform: FakePlatform
) -> None:
    passed, later = scene.queue(minutes=11), scene.queue(minutes=60)
    scene.lose_access()
    scene.world.shift(700)
    answer = scene.release()
    assert answer.released == (later.id,)
    assert [(one.id, one.error.code) for one in answer.refused] == [(passed.id, "SCHEDULE_OUT_OF_RANGE")]
    assert scene.state(passed) == "held"
    assert scene.release(made_by="anybody", past_due="now").released == (passed.id,)
    scene.world.send()
    assert (scene.state(passed), len(platform.posts)) == ("published", 1)


def test_a_post_whose_time_passed_days_ago_goes_out_when_it_is_asked_for(
    scene: Scene, platform: FakePlatform
) -> None:
    post = scene.queue(minutes=11)
    scene.lose_access()
    scene.world.shift(5 * 86_400)
    scene.release(made_by="anybody", past_due="now")
    scene.world.send()
    assert (scene.state(post), len(platform.posts)) == ("published", 1)


def test_a_held_post_gets_a_new_time_and_stays_held_until_it_is_released(scene: Scene) -> None:
    post = scene.queue(minutes=11)
    scene.lose_access()
    scene.world.shift(700)
    edit = api.EditPost(id=post.id, scheduled_at=scene.world.in_minutes(30), message="better")
    edited = edits.edit(scene.world.app, scene.owner(), edit)
    assert (edited.status, edited.message) == ("held", "better")
    assert scene.release(made_by="usr_guest").released == (post.id,)


def test_posts_are_released_one_by_one_by_maker_or_all(scene: Scene) -> None:
    tokens = [f"tok_{number}" for number in range(5)]
    made = [scene.queue(scene.guest(token), 20 + 5 * number) for number, token in enumerate(tokens)]
    scene.lose_access(*tokens)
    one, by_token, *rest = (post.id for post in made)
    assert scene.release(post_ids=(one,)).released == (one,)
    assert scene.release(made_by="tok_1").released == (by_token,)
    assert scene.release(made_by="usr_stranger").released == ()
    assert scene.release(made_by="usr_guest").released == tuple(rest)
    assert scene.release().released == ()


def test_a_post_that_is_not_held_is_refused_by_its_id_and_the_others_go(scene: Scene) -> None:
    held, queued = scene.queue(), scene.queue(scene.owner(), 40)
    scene.lose_access()
    answer = scene.release(post_ids=(queued.id, held.id))
    assert answer.released == (held.id,)
    assert [(one.id, one.error.code) for one in answer.refused] == [(queued.id, "NOT_FOUND")]
    assert [one.id for one in scene.cancel(post_ids=(queued.id,)).refused] == [queued.id]
    assert scene.state(queued) == "queued"


@pytest.mark.parametrize("call", ["release", "cancel"])
def test_ids_out_of_reach_refuse_the_whole_call(scene: Scene, call: str) -> None:
    held = scene.queue()
    scene.lose_access()
    act = getattr(scene, call)
    foreign = replace(scene.owner(), account_id="usr_b", user_id="usr_b")
    for ids in ((held.id, "pst_unknown"), ("not an id",)):
        error = refused(act, post_ids=ids)
        assert (error.code, error.extras["field"]) == ("NOT_FOUND", "post_ids")
    assert refused(act, foreign, post_ids=(held.id,)).code == "NOT_FOUND"
    limited = scene.owner(brand_ids=("brd_other",))
    assert refused(act, limited, post_ids=(held.id,)).code == "BRAND_NOT_AUTHORIZED"
    for stranger in (foreign, limited):
        for made_by in ("anybody", "usr_guest"):
            act(replace(stranger, operation_id=new_id("op")), made_by=made_by)
    assert scene.state(held) == "held"


def test_posts_of_pages_that_are_expired_or_gone_stay_held(scene: Scene) -> None:
    other = scene.world.page()
    expired, gone = scene.queue(), scene.queue(page=other)
    scene.lose_access()
    scene.world.run("UPDATE pages SET expired = true WHERE id = :id", id=scene.page.id)
    scene.world.run("UPDATE pages SET unlinked_at = clock_now() WHERE id = :id", id=other.id)
    answer = scene.release(made_by="anybody", past_due="now")
    assert answer.released == ()
    assert {one.id: one.error.code for one in answer.refused} == {
        expired.id: "PAGE_EXPIRED",
        gone.id: "NOT_FOUND",
    }


def test_a_call_does_so_many_and_says_how_many_remain_whatever_is_refused(
    scene: Scene, monkeypatch: Any
) -> None:
    monkeypatch.setattr("publishing.posts.held_posts.MAX_POSTS", 2)
    passed = [scene.queue(minutes=minutes) for minutes in (11, 12, 13)]
    made = [scene.queue(minutes=minutes) for minutes in (60, 70, 80)]
    scene.lose_access()
    scene.world.shift(800)
    first, second, third = scene.release(), scene.release(), scene.release()
    assert (first.released, first.remaining) == (tuple(post.id for post in made[:2]), 1)
    assert (second.released, second.remaining) == ((made[2].id,), 0)
    assert (third.released, third.remaining, len(third.refused)) == ((), 0, 2)
    assert (len(scene.cancel().cancelled), scene.cancel().remaining) == (2, 0)
    assert {scene.state(post) for post in passed} == {"cancelled"}


def test_a_repeated_release_and_cancel_answer_the_same_and_do_nothing_more(scene: Scene) -> None:
    scene.queue()
    scene.lose_access()
    caller = scene.owner()
    first = scene.release(caller)
    scene.queue(minutes=40)
    scene.look()
    assert scene.release(caller) == first
    caller = scene.owner()
    assert scene.cancel(caller).cancelled
    assert scene.cancel(caller) == scene.cancel(caller)


def test_a_held_post_takes_no_place_under_the_guardrails_and_waits_for_one_when_it_is_released(
    scene: Scene, platform: FakePlatform
) -> None:
    at = scene.world.in_minutes(30)
    held = scene.world.schedule(scene.page, at, "held", caller=scene.guest())
    scene.lose_access()
    taking_its_place = scene.world.schedule(scene.page, at, "new", caller=scene.owner())
    assert scene.release().released == (held.id,)
    scene.world.shift(1_900)
    scene.world.send()
    scene.world.shift(120)
    scene.world.send()
    assert {scene.state(held), scene.state(taking_its_place)} == {"published"}


def test_cancelled_posts_give_their_files_back(scene: Scene, media: FakeMedia) -> None:
    file = media.add()
    post = scene.queue(media_ids=(file,))
    scene.lose_access()
    [word] = scene.world.words()
    assert word.state == "pending"
    assert scene.cancel() == api.HeldPostsCancelled(cancelled=(post.id,))
    assert [word.state for word in scene.world.words()] == ["pending", "released"]
    assert not media.in_use(file)
    assert (scene.state(post), scene.cancel().cancelled) == ("cancelled", ())


def test_one_held_post_is_cancelled_as_a_queued_one_is(scene: Scene) -> None:
    post = scene.queue()
    scene.lose_access()
    cancellation.cancel(scene.world.app, scene.owner(), api.PostId(id=post.id))
    assert scene.state(post) == "cancelled"
    assert scene.release().released == ()


def test_a_page_with_held_posts_is_in_use_until_they_are_cancelled_with_it(scene: Scene) -> None:
    post = scene.queue()
    scene.lose_access()
    asked = api.UnlinkPage(id=scene.page.id)
    error = refused(unlinking.unlink, scene.world.app, scene.owner(), asked)
    assert (error.code, error.extras["queued_posts"]) == ("PAGE_IN_USE", 1)
    done = unlinking.unlink(scene.world.app, scene.owner(), replace(asked, cancel_queued=True))
    assert done.cancelled_posts == (post.id,)
    assert scene.state(post) == "cancelled"
