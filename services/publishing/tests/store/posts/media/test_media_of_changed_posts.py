"""Edits and retries of posts with files."""

from itertools import permutations
from typing import Any

import pytest
from publishing_kit.fake_media import FakeMedia, Killed
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from publishing import post_events
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import cancellation, retry
from publishing.sending import due_posts
from publishing.sending.context import SendingContext
from publishing.store.posts import Posts
from publishing.store.sending import AttemptOutcome, Sending


def test_files_are_attached_for_the_revision_that_the_event_about_the_change_has(
    world: World, media: FakeMedia, app: SendingContext, platform: FakePlatform
) -> None:
    old, new = media.add(), media.add()
    post = world.schedule(world.page(), world.in_minutes(11), media_ids=(old,))
    assert media.attached_for == {post.id: 1}
    world.edit(post, media_ids=(new,))
    assert media.attached_for == {post.id: 2}
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    world.shift(12 * 60)
    world.send()
    retry.retry(app, world.caller(), api.PostId(id=post.id))
    assert media.attached_for == {post.id: 4}
    assert [(state, revision) for state, _, revision in world.revisions_of_files()] == [
        ("pending", 1),
        ("pending", 2),
        ("released", 3),
        ("pending", 4),
    ]


def test_of_two_edits_at_once_the_later_attaches_its_files_for_its_own_revision(
    world: World, media: FakeMedia, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = media.add(), media.add(), media.add()
    post = world.schedule(world.page(), world.in_minutes(11), media_ids=(first,))
    attach = media.attach_media

    def attach_and_be_overtaken(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        attached = attach(*arguments, **named)
        world.edit(post, media_ids=(second,))
        return attached

    monkeypatch.setattr(media, "attach_media", attach_and_be_overtaken)
    world.edit(post, media_ids=(third,))
    assert media.attached_for == {post.id: 3}
    assert world.revisions_of_files()[-1] == ("pending", (third,), 3)


def test_a_failed_post_lets_go_and_a_retry_holds_again(
    world: World, media: FakeMedia, app: SendingContext, platform: FakePlatform
) -> None:
    photo = media.add()
    post = world.due_post(media_ids=(photo,))
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    world.send()
    media.hear_all(world.words())
    assert not media.in_use(photo)
    retry.retry(app, world.caller(), api.PostId(id=post.id))
    assert media.in_use(photo)
    media.hear_all(world.words())
    assert media.in_use(photo)
    world.send()
    assert [state for state, _, _ in world.revisions_of_files()] == [
        "pending",
        "released",
        "pending",
        "published",
    ]


def test_a_retry_whose_file_is_gone_is_not_found(
    world: World, media: FakeMedia, app: SendingContext, platform: FakePlatform
) -> None:
    photo = media.add()
    post = world.due_post(media_ids=(photo,))
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    world.send()
    del media.files[photo]
    error = refused(retry.retry, app, world.caller(), api.PostId(id=post.id))
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "media_ids"})
    assert world.state(post.id).state == "failed"


def test_a_retry_repeated_while_its_post_goes_out_sends_media_no_earlier_state(
    world: World, media: FakeMedia, app: SendingContext, platform: FakePlatform
) -> None:
    photo, caller = media.add(), world.caller()
    post = world.due_post(media_ids=(photo,))
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    world.send()
    asked = api.PostId(id=post.id)
    retry.retry(app, caller, asked)
    [(_, [claimed])], _ = due_posts.claim_queues(app, 1)
    out = AttemptOutcome(
        id=post.id, fence=claimed.fence, state="published", outcome="published", remote_id="r"
    )
    with world.database.transaction() as connection:
        post_events.stage_ended(connection, Sending(connection).record([out]))
        assert retry.retry(app, caller, asked).status == "queued"
    assert {state for state, _, revision in world.revisions_of_files() if revision > 3} == {"published"}


def test_an_edit_takes_new_files_and_lets_old_ones_go(world: World, media: FakeMedia) -> None:
    old, new = media.add(), media.add("image/png")
    post = world.schedule(world.page(), world.in_minutes(11), media_ids=(old,))
    media.hear_all(world.words())
    edited = world.edit(post, media_ids=(new,))
    assert [item.src for item in edited.media] == [media.files[new].public_url]
    media.hear_all(world.words())
    assert (media.in_use(old), media.in_use(new)) == (False, True)
    world.edit(post, message="other words")
    assert len(world.words()) == 2
    assert world.edit(post, media_ids=()).media == ()
    assert not media.in_use(new)
    assert world.revisions_of_files()[-1] == ("released", (), 3)


def test_an_edit_that_is_refused_leaves_everything_as_it_was(world: World, media: FakeMedia) -> None:
    old, new, page = media.add(), media.add(), world.page()
    world.schedule(page, world.in_minutes(30))
    post = world.schedule(page, world.in_minutes(11), media_ids=(old,))
    media.hear_all(world.words())
    error = refused(world.edit, post, media_ids=(new,), scheduled_at=world.in_minutes(30))
    assert error.code == "PAGE_PUBLISH_GUARDRAIL"
    assert (media.in_use(old), media.in_use(new)) == (True, False)
    assert refused(world.edit, post, media_ids=("med_unknown",)).code == "NOT_FOUND"
    assert media.held[post.id] == {old: True}


def test_killed_in_the_middle_of_an_edit_the_post_holds_what_it_held(
    world: World, media: FakeMedia, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = media.add(), media.add()
    post = world.schedule(world.page(), world.in_minutes(11), media_ids=(old,))
    media.hear_all(world.words())

    def die(*args: Any, **options: Any) -> None:
        raise Killed

    monkeypatch.setattr(Posts, "change", die)
    with pytest.raises(Killed):
        world.edit(post, media_ids=(new,))
    media.hear_all(world.words())
    assert media.held[post.id] == {old: True}


def test_events_in_any_order_and_number_end_the_same(
    world: World, media: FakeMedia, app: SendingContext
) -> None:
    first, second = media.add(), media.add()
    kept = world.schedule(world.page(), world.in_minutes(11), media_ids=(first,))
    world.edit(kept, media_ids=(first, second))
    world.edit(kept, media_ids=(second,))
    gone = world.schedule(world.page(), world.in_minutes(11), media_ids=(first,))
    cancellation.cancel(app, world.caller(), api.PostId(id=gone.id))
    said = world.words()
    assert len(said) == 5
    for order in permutations(said):
        media.held, media.heard = {}, {}
        for word in (*order, order[0]):
            media.hear(word)
        assert media.held == {kept.id: {second: True}, gone.id: {}}
