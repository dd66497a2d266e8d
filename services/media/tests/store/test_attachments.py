"""The attachments of files to posts: provisional until the post's event `post.media` confirms them. Attached files
cannot be deleted.
"""

import pytest
from media_kit.world import World, at_once

from contracts import media as api
from contracts.caller import Caller
from contracts.errors import ApiError
from media.files import attachments, library


def delete(world: World, media, caller: Caller | None = None):
    return library.delete(world.context, caller or world.caller(), api.MediaId(id=media.media_id))


def test_a_delete_repeated_by_its_operation_is_answered_as_before_for_two_days(world: World) -> None:
    media, caller = world.media(), world.caller()
    done = delete(world, media, caller)
    world.shift(hours=25)
    world.sweep()
    assert delete(world, media, caller) == done
    for other in (world.caller(), world.caller("usr_b", operation_id=caller.operation_id)):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            delete(world, media, other)
    world.shift(hours=24)
    world.sweep()
    with pytest.raises(ApiError, match="NOT_FOUND"):
        delete(world, media, caller)


def post_of(world: World, media):
    return library.show(world.context, world.caller(), api.MediaId(id=media.media_id)).scheduled_post_id


def test_an_attached_file_is_in_use_at_once_and_says_by_which_post(world: World) -> None:
    media = world.media()
    attached = world.attach("pst_1", media)
    assert attached.media[0].scheduled_post_id == "pst_1"
    with pytest.raises(ApiError, match="MEDIA_IN_USE"):
        delete(world, media)


def test_the_first_pending_post_is_named(world: World) -> None:
    media = world.media()
    world.tell("pst_2", "pending", 1, media)
    world.shift(seconds=1)
    world.tell("pst_1", "pending", 1, media)
    assert post_of(world, media) == "pst_2"
    world.tell("pst_2", "published", 2, media)
    assert post_of(world, media) == "pst_1"


def test_every_pending_post_is_counted_and_the_first_ten_are_named(world: World) -> None:
    media = world.media()
    for number in range(12):
        world.tell(f"pst_{number:02}", "pending", 1, media)
        world.shift(seconds=1)
    world.tell("pst_00", "published", 2, media)
    shown = library.show(world.context, world.caller(), api.MediaId(id=media.media_id))
    assert shown.scheduled_post_count == 11
    assert shown.scheduled_post_ids == tuple(f"pst_{number:02}" for number in range(1, 11))


def test_another_accounts_or_missing_media_cannot_be_attached(world: World) -> None:
    mine, of_brand = world.media(), world.media(world.caller(brand_ids=("brd_b",)))
    gone = world.media()
    delete(world, gone)
    for caller, media in (
        (world.caller("usr_b"), mine),
        (world.caller(brand_ids=("brd_a",)), of_brand),
        (world.caller(brand_ids=("brd_b",)), mine),
        (world.caller(), gone),
    ):
        with pytest.raises(ApiError, match="NOT_FOUND") as caught:
            world.attach("pst_1", media, caller=caller)
        assert caught.value.extras == {"field": "media_ids"}
    for made_up in ("", "med_x", "a\0b"):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            request = api.AttachMedia(post_id="pst_1", media_ids=(made_up,), revision=1)
            attachments.attach(world.context, world.caller(), request)
    assert post_of(world, mine) is None


def test_files_are_returned_in_the_requested_order(world: World) -> None:
    media = [world.media() for _ in range(3)]
    for order in (media, media[::-1], [media[1], media[1]]):
        assert [it.media_id for it in world.attach("pst_1", *order).media] == [it.media_id for it in order]


def test_simultaneous_attach_and_delete_have_one_winner(world: World) -> None:
    for number in range(10):
        media = world.media()
        attached, deleted = at_once(
            2, lambda it, n=number, m=media: delete(world, m) if it else world.attach(f"pst_{n}", m)
        )
        if isinstance(deleted, ApiError):
            assert deleted.code == "MEDIA_IN_USE"
            assert attached.media[0].media_id == media.media_id
        else:
            assert attached.code == "NOT_FOUND"


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_try_without_a_stored_post_keeps_no_file_once_the_operations_post_releases_it(
    world: World, is_heard: bool
) -> None:
    media, other, caller = world.media(), world.media(), world.caller()
    world.attach("pst_1", media, other, caller=caller)
    world.attach("pst_2", media, caller=caller)
    world.attach("pst_3", other)
    if is_heard:
        world.tell("pst_2", "pending", 1, media)
    attachments.detach(world.context, api.DetachMedia(post_id="pst_2", revision=2))
    assert delete(world, media).success
    assert post_of(world, other) == "pst_3"


def test_a_replayed_call_leaves_the_file_with_its_first_post(
    world: World,
) -> None:
    media, caller = world.media(), world.caller()
    world.attach("pst_1", media, caller=caller)
    world.attach("pst_2", media, caller=caller)
    attachments.detach(world.context, api.DetachMedia(post_id="pst_2"))
    assert post_of(world, media) == "pst_1"


def test_an_unconfirmed_attachment_ends_after_ten_minutes_and_a_confirmed_one_does_not(world: World) -> None:
    lost, kept = world.media(), world.media()
    world.attach("pst_1", lost)
    world.attach("pst_2", kept)
    world.tell("pst_2", "pending", 1, kept)
    world.shift(minutes=9)
    world.sweep()
    assert post_of(world, lost) == "pst_1"
    world.shift(minutes=2)
    world.sweep()
    assert post_of(world, lost) is None
    assert post_of(world, kept) == "pst_2"


def test_a_file_is_not_deleted_while_its_posts_event_may_be_late(world: World) -> None:
    media = world.media()
    world.attach("pst_1", media)
    for hours in (1, 22):
        world.shift(hours=hours)
        world.sweep()
        with pytest.raises(ApiError, match="MEDIA_IN_USE") as caught:
            delete(world, media)
        assert caught.value.extras == {"scheduled_post_id": "pst_1"}
    world.shift(hours=2)
    world.sweep()
    assert delete(world, media).success


def test_a_repeated_attachment_begins_anew(world: World) -> None:
    media = world.media()
    world.attach("pst_1", media)
    world.shift(hours=23)
    assert world.attach("pst_1", media).media[0].scheduled_post_id == "pst_1"
    world.shift(hours=2)
    world.sweep()
    with pytest.raises(ApiError, match="MEDIA_IN_USE"):
        delete(world, media)


def test_an_edit_keeps_the_old_files_until_the_post_confirms_the_new_ones(world: World) -> None:
    old, new = world.media(), world.media()
    world.attach("pst_1", old)
    world.tell("pst_1", "pending", 1, old)
    world.attach("pst_1", new)
    assert post_of(world, old) == post_of(world, new) == "pst_1"
    world.tell("pst_1", "pending", 2, new)
    assert post_of(world, old) is None
    assert post_of(world, new) == "pst_1"


def test_a_new_attach_replaces_one_without_a_stored_post(world: World) -> None:
    first, second = world.media(), world.media()
    world.attach("pst_1", first)
    world.attach("pst_1", second)
    assert post_of(world, first) is None


def test_an_older_event_that_arrives_late_changes_nothing(world: World) -> None:
    media = world.media()
    world.tell("pst_1", "released", 3, media)
    world.tell("pst_1", "pending", 2, media)
    assert post_of(world, media) is None
    world.tell("pst_1", "pending", 4, media)
    world.tell("pst_1", "pending", 4)
    assert post_of(world, media) == "pst_1"


def test_an_event_that_arrives_late_leaves_what_was_attached_for_a_later_revision(world: World) -> None:
    media, other = world.media(), world.media()
    world.tell("pst_1", "pending", 1, media)
    world.attach("pst_1", other, revision=3)
    world.tell("pst_1", "released", 2, media)
    assert post_of(world, media) is None
    assert post_of(world, other) == "pst_1"


@pytest.mark.parametrize("clock_is", ["ahead", "behind"])
def test_a_retry_keeps_its_file_whatever_the_services_clocks_show(world: World, clock_is) -> None:
    media = world.media()
    world.tell("pst_1", "pending", 1, media)
    world.attach("pst_1", media, revision=3)  # the retry of a post that failed as its revision 2
    world.shift(minutes=5 if clock_is == "ahead" else -5)
    world.tell("pst_1", "released", 2, media)
    assert post_of(world, media) == "pst_1"
    world.tell("pst_1", "pending", 3, media)
    world.shift(hours=25)
    world.sweep()
    assert post_of(world, media) == "pst_1"


@pytest.mark.parametrize("state", ["released", "pending"])
def test_a_retry_that_never_stores_its_post_keeps_a_confirmed_file_for_a_day_only(
    world: World, state
) -> None:
    media, other = world.media(), world.media()
    world.tell("pst_1", "pending", 1, media)
    world.attach("pst_1", media, revision=3)
    world.tell("pst_1", state, 2, other)
    with pytest.raises(ApiError, match="MEDIA_IN_USE"):
        delete(world, media)
    world.shift(hours=25)
    world.sweep()
    assert delete(world, media).success


def test_an_edits_files_are_released_when_the_post_ends_at_that_revision(world: World) -> None:
    old, new = world.media(), world.media()
    world.tell("pst_1", "pending", 1, old)
    world.attach("pst_1", new, revision=2)
    world.tell("pst_1", "published", 2, old)
    assert delete(world, new).success


def test_the_detach_of_an_earlier_revision_keeps_a_later_edits_files(
    world: World,
) -> None:
    old, new = world.media(), world.media()
    world.tell("pst_1", "pending", 1, old)
    world.attach("pst_1", new, revision=3)
    attachments.detach(world.context, api.DetachMedia(post_id="pst_1", revision=2))
    assert delete(world, old).success
    assert post_of(world, new) == "pst_1"


def test_detaching_is_immediate_and_repeatable(world: World) -> None:
    media = world.media()
    world.tell("pst_1", "pending", 1, media)
    for _ in range(2):
        attachments.detach(world.context, api.DetachMedia(post_id="pst_1"))
    assert delete(world, media).success


def test_an_event_from_before_a_detach_changes_nothing_and_the_next_one_does(world: World) -> None:
    media = world.media()
    world.attach("pst_1", media)
    attachments.detach(world.context, api.DetachMedia(post_id="pst_1", revision=2))
    world.tell("pst_1", "pending", 1, media)
    assert post_of(world, media) is None
    world.tell("pst_1", "published", 2, media)
    assert world.used() == 0  # of what has been published


def test_an_event_with_missing_or_foreign_files_applies_to_the_rest(world: World) -> None:
    mine, gone, strangers = world.media(), world.media(), world.media(world.caller("usr_b"))
    delete(world, gone)
    world.tell("pst_1", "pending", 1, gone, strangers, mine)
    assert post_of(world, mine) == "pst_1"
    assert world.ask("SELECT media_id FROM attachments") == [(mine.media_id,)]
