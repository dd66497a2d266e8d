"""Posts with media_ids: files are attached before the post is stored, and detached when the post no longer needs
them.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from publishing_kit.fake_media import FakeMedia, Killed
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from publishing.pages import unlinking
from publishing.platforms.base import OutcomeUnknown
from publishing.posts import cancellation, post_lists, publish_now, reading, schedule, validation
from publishing.sending.context import SendingContext
from publishing.store.posts import Posts


@pytest.fixture
def send_now(world: World, app: SendingContext) -> Callable[..., Any]:
    def send(page: api.Page, *media_ids: str, operation_id: str | None = None) -> Any:
        request = api.PublishPost(page_id=page.id, message="now", media_ids=media_ids)
        return publish_now.publish(app, world.caller(operation_id), request)

    return send


def test_a_post_with_media_ids_shows_them_and_holds_them(
    world: World, media: FakeMedia, app: SendingContext
) -> None:
    photo, video = media.add(), media.add("video/mp4", duration_seconds=5.0)
    url = "https://example.com/a.jpg"
    post = world.schedule(world.page("IG"), world.in_minutes(11), media_ids=(photo, video), media_urls=(url,))
    assert [(item.src, item.type) for item in post.media] == [
        (media.files[photo].public_url, "photo"),
        (media.files[video].public_url, "video"),
        (url, "photo"),
    ]
    assert reading.show(app, world.caller(), api.PostId(id=post.id)) == post
    assert world.revisions_of_files() == [("pending", (photo, video), 1)]
    assert media.held == {post.id: {photo: False, video: False}}
    media.hear_all(world.words())
    assert media.held == {post.id: {photo: True, video: True}}


def test_a_time_that_was_in_range_stays_so_while_the_files_are_attached(
    world: World, media: FakeMedia, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, attach = world.in_minutes(11), app.media.attach_media

    def slow(*arguments: Any, **named: Any) -> Any:
        world.shift(120)
        return attach(*arguments, **named)

    monkeypatch.setattr(app.media, "attach_media", slow)
    assert world.schedule(world.page(), at, media_ids=(media.add(),)).scheduled_at == at


def test_a_post_without_media_ids_asks_media_nothing_and_tells_it_nothing(
    world: World, media: FakeMedia
) -> None:
    world.due_post(media_urls=("https://example.com/a.jpg",))
    post = world.schedule(world.page(), world.in_minutes(30))
    cancellation.cancel(world.app, world.caller(), api.PostId(id=post.id))
    assert media.calls == []
    assert world.words() == []


@pytest.mark.parametrize("media_id", ["med_unknown", "no id at all", "med_\0"])
def test_unknown_media_are_not_found_by_their_field(world: World, media: FakeMedia, media_id: str) -> None:
    error = refused(world.schedule, world.page(), world.in_minutes(11), media_ids=(media.add(), media_id))
    assert error.code in ("NOT_FOUND", "VALIDATION_ERROR")
    assert error.code != "NOT_FOUND" or error.extras == {"field": "media_ids"}
    assert world.ask("SELECT * FROM posts") == []
    assert media.held == {}


def test_media_of_another_account_are_not_there(world: World, media: FakeMedia, app: SendingContext) -> None:
    page = world.page()
    world.run("UPDATE pages SET account_id = 'usr_b'")
    request = api.SchedulePost(page_id=page.id, scheduled_at=world.in_minutes(11), media_ids=(media.add(),))
    error = refused(schedule.schedule, app, Caller(account_id="usr_b", user_id="usr_b"), request)
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "media_ids"})


def test_a_refused_post_gives_its_files_back_at_once(world: World, media: FakeMedia, send_now: Any) -> None:
    photo, page, at = media.add(), world.page(), world.in_minutes(11)
    world.schedule(page, at)
    error = refused(world.schedule, page, at + timedelta(seconds=1), media_ids=(photo,))
    assert error.code == "PAGE_PUBLISH_GUARDRAIL"
    assert not media.in_use(photo)
    long = media.add("video/mp4", duration_seconds=15_000.0)
    assert refused(send_now, page, long).code == "VALIDATION_ERROR"
    assert not media.in_use(long)
    assert media.calls == ["attach", "detach"] * 2


def test_a_dry_run_finds_what_the_real_call_refuses_and_attaches_nothing(
    world: World, media: FakeMedia, app: SendingContext, send_now: Any
) -> None:
    page = world.page("IG")
    tall, gif = media.add(width=500, height=1_000), media.add("image/gif", width=500, height=500)
    request = api.ValidatePost(page_id=page.id, media_ids=(tall, gif, "med_unknown"))
    found = validation.validate(app, world.caller(), request)
    assert [(error.code, error.field) for error in found.errors] == [("NOT_FOUND", "media_ids")]
    found = validation.validate(app, world.caller(), api.ValidatePost(page_id=page.id, media_ids=(tall, gif)))
    assert [(error.code, error.field) for error in found.errors] == [("VALIDATION_ERROR", "media_ids[0]")]
    assert [(change.field, change.mime_type) for change in found.media_changes] == [
        ("media_ids[1]", "image/jpeg")
    ]
    assert set(media.calls) == {"get"}
    error = refused(send_now, page, tall, gif)
    assert (error.code, error.message) == (found.errors[0].code, found.errors[0].message)
    assert world.ask("SELECT * FROM posts") == []


def test_a_repeated_operation_gets_its_post_and_holds_nothing_twice(
    world: World, media: FakeMedia, app: SendingContext
) -> None:
    photo, caller = media.add(), world.caller("op_1")
    request = api.SchedulePost(page_id=world.page().id, scheduled_at=world.in_minutes(11), media_ids=(photo,))
    first = schedule.schedule(app, caller, request)
    assert schedule.schedule(app, caller, request) == first
    assert list(media.held) == [first.id]
    assert len(world.words()) == 1


def test_killed_between_attaching_and_storing_leaves_nothing(
    world: World, media: FakeMedia, monkeypatch: pytest.MonkeyPatch
) -> None:
    photo, page = media.add(), world.page()

    def die(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Posts, "add", die)
        with pytest.raises(Killed):
            world.schedule(page, world.in_minutes(11), media_ids=(photo,))
    assert media.in_use(photo)
    media.hear_all(world.words())
    assert not media.in_use(photo)
    assert (world.ask("SELECT * FROM posts"), world.words()) == ([], [])


def test_killed_between_storing_and_answering_the_post_holds_its_files(
    world: World, media: FakeMedia, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    photo, caller = media.add(), world.caller("op_1")
    request = api.SchedulePost(page_id=world.page().id, scheduled_at=world.in_minutes(11), media_ids=(photo,))

    queue = schedule._queue

    def die(*args: Any) -> None:
        queue(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(schedule, "_queue", die)
        with pytest.raises(Killed):
            schedule.schedule(app, caller, request)
    media.hear_all(world.words())
    again = schedule.schedule(app, caller, request)
    assert media.held == {again.id: {photo: True}}


def test_a_commit_that_may_have_happened_gives_nothing_back(
    world: World, media: FakeMedia, monkeypatch: pytest.MonkeyPatch
) -> None:
    photo, page = media.add(), world.page()

    queue = schedule._queue

    def lose(*args: Any) -> None:
        queue(*args)
        raise ApiError(SERVICE_UNAVAILABLE)

    monkeypatch.setattr(schedule, "_queue", lose)
    post = world.schedule(page, world.in_minutes(11), media_ids=(photo,))
    assert media.calls == ["attach"]
    media.hear_all(world.words())
    assert media.held == {post.id: {photo: True}}


def test_media_away_refuses_a_schedule_and_stores_nothing(world: World, media: FakeMedia) -> None:
    photo, page = media.add(), world.page()
    media.is_away = True
    error = refused(world.schedule, page, world.in_minutes(11), media_ids=(photo,))
    assert error.code == "SERVICE_UNAVAILABLE"
    assert world.ask("SELECT * FROM posts") == []


def test_cancelling_gives_the_files_back_before_the_answer(
    world: World, media: FakeMedia, app: SendingContext
) -> None:
    photo = media.add()
    post = world.schedule(world.page(), world.in_minutes(11), media_ids=(photo,))
    media.hear_all(world.words())
    cancellation.cancel(app, world.caller(), api.PostId(id=post.id))
    assert not media.in_use(photo)
    assert world.revisions_of_files()[-1] == ("released", (photo,), 2)


def test_an_event_still_on_its_way_holds_no_file_of_a_cancelled_post(
    world: World, media: FakeMedia, app: SendingContext
) -> None:
    photo, page = media.add(), world.page()
    alone, with_page = (world.schedule(page, world.in_minutes(at), media_ids=(photo,)) for at in (11, 13))
    late = world.words()
    cancellation.cancel(app, world.caller(), api.PostId(id=alone.id))
    unlinked = unlinking.unlink(app, world.caller(), api.UnlinkPage(id=page.id, cancel_queued=True))
    assert unlinked.cancelled_posts == (with_page.id,)
    for word in late:
        media.hear(word)
    assert not media.in_use(photo)


def test_cancelling_does_not_need_media(world: World, media: FakeMedia, app: SendingContext) -> None:
    photo = media.add()
    post = world.schedule(world.page(), world.in_minutes(11), media_ids=(photo,))
    media.hear_all(world.words())
    media.is_away = True
    assert cancellation.cancel(app, world.caller(), api.PostId(id=post.id)).success
    media.hear_all(world.words())
    assert not media.in_use(photo)


def test_media_learns_the_outcome_of_a_publish(
    world: World, media: FakeMedia, platform: FakePlatform
) -> None:
    photo = media.add()
    post = world.due_post(media_ids=(photo,))
    world.send()
    assert world.revisions_of_files() == [("pending", (photo,), 1), ("published", (photo,), 2)]
    assert world.events() == ["post.media", "post.media", "post.published"]
    [source] = platform.contents[0].media
    assert (source.url, source.content_type, source.has_bytes) == (
        media.files[photo].public_url, "image/jpeg", True,
    )  # fmt: skip
    assert world.state(post.id).state == "published"


def test_only_media_learns_of_a_publish_at_once(world: World, media: FakeMedia, send_now: Any) -> None:
    photo = media.add()
    result = send_now(world.page(), photo)
    url = media.files[photo].public_url
    thumbnail = url.rpartition(".")[0] + "-thumbnail.jpg"
    item = api.MediaItem(src=url, type="photo", thumbnail_url=thumbnail)
    assert result.media == (item,)
    [listed] = post_lists.published(world.app, world.caller(), api.ListPublishedPosts()).published_posts
    assert listed.media == (item,)
    assert world.events() == ["post.media", "post.media"]
    assert [state for state, _, _ in world.revisions_of_files()] == ["pending", "published"]


def test_a_refused_publish_lets_go_and_the_same_operation_holds_again(
    world: World, media: FakeMedia, send_now: Any, platform: FakePlatform
) -> None:
    photo, page = media.add(), world.page()
    platform.script = [OutcomeUnknown("never arrived")]
    assert refused(send_now, page, photo, operation_id="op").code == "PLATFORM_OUTCOME_UNKNOWN"
    world.look(after_seconds=90)
    media.hear_all(world.words())
    assert not media.in_use(photo)
    assert send_now(page, photo, operation_id="op").was_published
    assert world.revisions_of_files() == [
        ("pending", (photo,), 1), ("released", (photo,), 2), ("pending", (photo,), 3), ("published", (photo,), 4),
    ]  # fmt: skip
