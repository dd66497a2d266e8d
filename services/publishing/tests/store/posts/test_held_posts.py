"""Posts of a maker who lost access: held, told of, and released or cancelled by somebody else."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.events import AccessRevoked, Event
from contracts.maker import Maker
from publishing.pages import unlinking
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import access_loss, cancellation, edits, held_posts, post_lists, reading, retry
from publishing.sending import claim_recovery

GUEST = Maker(user_id="usr_guest", token_id="tok_guest")


class Scene:
    """A page with posts of a guest and of its owner."""

    def __init__(self, world: World) -> None:
        self.world, self.page = world, world.page()

    def guest(self, token_id: str = "tok_guest") -> Caller:
        return replace(
            self.world.caller(), user_id="usr_guest", token_id=token_id, brand_ids=(self.page.brand_id,)
        )

    def owner(self, **fields: Any) -> Caller:
        return replace(self.world.caller(), token_id="tok_owner", **fields)

    def queue(self, caller: Caller | None = None, minutes: float = 30, **fields: Any) -> api.ScheduledPost:
        """A post of the guest, unless another caller is given."""
        fields = {"message": new_id("text")} | fields
        page = fields.pop("page", self.page)
        return self.world.schedule(  # type: ignore[no-any-return]
            page, self.world.in_minutes(minutes), caller=caller or self.guest(), **fields
        )

    def lose_access(
        self, *token_ids: str, reason: str = "collaborator_removed", account: str | None = None
    ) -> None:
        """accounts' event about these tokens (the guest's without any) arrives, and the loop has run."""
        data = AccessRevoked(reason=reason, token_ids=token_ids or ("tok_guest", "tok_guest_before"))
        event = Event(
            id=new_id("evt"),
            event="access.revoked",
            created_at=datetime.now(UTC),
            account_id=account or self.owner().account_id,
            data=msgspec.to_builtins(data),
        )
        with self.world.database.transaction() as connection:
            access_loss.on_access_revoked(connection, event)
        self.look()

    def look(self) -> None:
        """The loop comes round, whatever it waits for."""
        self.world.run("UPDATE post_holds SET wake_at = clock_timestamp()")
        while access_loss.hold_posts(self.world.app):
            pass

    def state(self, post: api.ScheduledPost) -> str:
        return self.world.state(post.id).state  # type: ignore[no-any-return]

    def shown(self, post: api.ScheduledPost) -> api.ScheduledPost:
        return reading.show(self.world.app, self.owner(), api.PostId(id=post.id))

    def release(self, caller: Caller | None = None, **fields: Any) -> api.PostsReleased:
        request = api.ReleasePosts(**(fields or {"made_by": "anybody"}))
        return held_posts.release(self.world.app, caller or self.owner(), request)

    def cancel(self, caller: Caller | None = None, **fields: Any) -> api.HeldPostsCancelled:
        request = api.HeldPosts(**(fields or {"made_by": "anybody"}))
        return held_posts.cancel(self.world.app, caller or self.owner(), request)

    def told(self, event: str = "posts.held") -> list[dict[str, Any]]:
        rows = self.world.ask("SELECT body FROM outbox WHERE event = :event ORDER BY position", event=event)
        return [msgspec.json.decode(bytes(row.body), type=Event).data for row in rows]


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


def refusal(function: Any, *args: Any, **fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        function(*args, **fields)
    return caught.value


# --- what is held ---


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


def test_held_posts_are_told_of_once_by_an_event_for_each_brand(scene: Scene) -> None:
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


def test_nothing_is_told_when_nothing_was_held(scene: Scene) -> None:
    scene.lose_access()
    assert scene.told() == []


def test_more_posts_than_one_transaction_holds_are_all_held(scene: Scene, monkeypatch: Any) -> None:
    monkeypatch.setattr("publishing.posts.access_loss._AT_ONCE", 2)
    made = [scene.queue(minutes=20 + 5 * number) for number in range(5)]
    scene.lose_access()
    assert {scene.state(post) for post in made} == {"held"}
    assert sorted(one for told in scene.told() for one in told["postIds"]) == sorted(post.id for post in made)


def test_a_call_that_queues_a_post_after_the_removal_came_here_is_found_by_a_later_look(scene: Scene) -> None:
    scene.lose_access()
    late = scene.queue()
    scene.look()
    assert scene.state(late) == "held"


def test_looks_end_once_no_call_can_be_on_its_way_any_more(scene: Scene) -> None:
    scene.lose_access()
    [first] = scene.world.ask("SELECT wake_at - clock_timestamp() AS wait FROM post_holds")
    assert timedelta(0) < first.wait < timedelta(seconds=2)
    scene.world.run("UPDATE post_holds SET created_at = created_at - interval '11 minutes'")
    scene.look()
    assert scene.world.ask("SELECT FROM post_holds") == []


@pytest.mark.parametrize("call", ["edit", "retry", "release", "cancel"])
def test_a_call_that_was_on_its_way_while_its_token_was_revoked_is_refused(scene: Scene, call: str) -> None:
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
    assert refusal(calls[call]).code == "TOKEN_REVOKED"
    assert scene.state(post) == "held"


def test_a_held_post_is_not_sent(scene: Scene, platform: FakePlatform) -> None:
    scene.queue(minutes=11)
    scene.lose_access()
    scene.world.shift(700)
    scene.world.send()
    assert platform.posts == []


# --- posts on their way ---


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
    """Its page's earlier post takes long; the removal comes meanwhile."""
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


# --- whose a post is ---


def test_a_post_is_its_last_editors(scene: Scene) -> None:
    vouched_for, tampered_with = scene.queue(), scene.queue(scene.owner(), 40)
    app = scene.world.app
    edits.edit(app, scene.owner(), api.EditPost(id=vouched_for.id, message="checked"))
    edits.edit(app, scene.guest(), api.EditPost(id=tampered_with.id, message="buy!"))
    scene.lose_access()
    assert (scene.state(vouched_for), scene.state(tampered_with)) == ("queued", "held")


def test_a_failed_post_is_whose_who_retries_it(scene: Scene) -> None:
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
    error = refusal(retry.bring_due, scene.world.app, operator(), api.PostId(id=post.id))
    assert error.code == "NOT_FOUND"


# --- release ---


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


def test_a_released_post_is_whose_who_released_it(scene: Scene) -> None:
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
def test_who_ended_the_hold_is_told_once_for_each_maker(scene: Scene, call: str, outcome: str) -> None:
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


def test_cancelling_a_single_post_is_told_if_it_was_held(scene: Scene) -> None:
    held, queued = scene.queue(), scene.queue(scene.owner(), 40)
    scene.lose_access()
    for post in (held, queued):
        cancellation.cancel(scene.world.app, scene.owner(), api.PostId(id=post.id))
    [told] = scene.told("posts.hold.ended")
    assert (told["outcome"], told["post_ids"]) == ("cancelled", [held.id])


def test_a_release_that_releases_nothing_tells_nobody(scene: Scene) -> None:
    scene.queue(minutes=11)
    scene.lose_access()
    scene.world.shift(700)
    assert scene.release().released == ()
    assert scene.told("posts.hold.ended") == []


def test_who_is_added_again_gets_nothing_released_and_queues_new_posts(scene: Scene) -> None:
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
        error = refusal(act, post_ids=ids)
        assert (error.code, error.extras["field"]) == ("NOT_FOUND", "post_ids")
    assert refusal(act, foreign, post_ids=(held.id,)).code == "NOT_FOUND"
    limited = scene.owner(brand_ids=("brd_other",))
    assert refusal(act, limited, post_ids=(held.id,)).code == "BRAND_NOT_AUTHORIZED"
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


# --- cancel, and what ends a post otherwise ---


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
    error = refusal(unlinking.unlink, scene.world.app, scene.owner(), asked)
    assert (error.code, error.extras["queued_posts"]) == ("PAGE_IN_USE", 1)
    done = unlinking.unlink(scene.world.app, scene.owner(), replace(asked, cancel_queued=True))
    assert done.cancelled_posts == (post.id,)
    assert scene.state(post) == "cancelled"
