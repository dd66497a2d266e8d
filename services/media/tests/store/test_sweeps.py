"""The periodic clean-up. The tests move its clock, and some take its storage away."""

import io
from datetime import timedelta
from unittest.mock import MagicMock

import pytest
import urllib3
from media_kit import samples
from media_kit.world import World, at_once
from sqlalchemy import text

from contracts import media as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from media import cleanup
from media.files import library, multipart_uploads, uploads
from media.store.attachments import Attachments


def test_a_reservation_ends_after_fifteen_minutes_with_its_bytes(world: World) -> None:
    world.put(samples.picture("image/png"))
    world.shift(minutes=14)
    world.sweep()
    assert len(world.object_names()) == 1
    world.shift(minutes=2)
    world.sweep()
    assert world.object_names() == set()
    assert world.used() == 0
    assert world.ask("SELECT 1 FROM removals") == []


def test_an_upload_under_inspection_stays_until_its_lease_lapses(world: World) -> None:
    world.put(samples.picture("image/png"))
    world.run("UPDATE uploads SET lease_until = clock_timestamp() + interval '1 minute'")
    world.shift(hours=1)
    world.sweep()
    assert len(world.object_names()) == 1
    world.run("UPDATE uploads SET lease_until = clock_timestamp()")
    world.sweep()
    assert world.object_names() == set()


def test_bytes_that_arrive_after_their_reservation_ended_are_found_within_hours(world: World) -> None:
    ticket = world.begin(100)
    world.shift(minutes=16)
    world.sweep()
    urllib3.request("PUT", ticket.url, body=bytes(100), headers=ticket.headers)
    media = world.media()
    world.shift(hours=2)
    world.sweep()
    assert world.object_names() == {"/".join(media.url.split("/")[-2:])}


def test_a_young_object_without_a_row_and_names_that_are_not_ours_are_left(world: World) -> None:
    key = "A" * 22
    for name in (f"{key}/x.png", "backup/x.png"):
        world.context.bucket.put(name, io.BytesIO(b"x"), "image/png")
    world.sweep()
    assert len(world.object_names()) == 2
    world.shift(hours=2)
    world.sweep()
    assert world.object_names() == {"backup/x.png"}


def test_the_bucket_is_searched_once_an_hour_by_one_replica(world: World) -> None:
    looked = []
    names = world.context.bucket.names
    world.context.bucket.names = lambda *after: looked.append(1) or names(*after)
    at_once(4, lambda _: cleanup.remove_orphans(world.context))
    assert len(looked) == 1


def strangers(world: World, count):
    """Puts `count` old objects without a row into the bucket. Returns their names in order."""
    names = [f"{letter * 22}/x.png" for letter in "ABCDEFGH"[:count]]
    for name in names:
        world.context.bucket.put(name, io.BytesIO(b"x"), "image/png")
    world.shift(hours=2)
    return names


def test_a_large_bucket_is_searched_in_parts_without_a_pause(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "_PAGE", 2)
    names = strangers(world, 5)
    left = []
    while cleanup.remove_orphans(world.context):
        left.append(len(world.object_names()))
    assert left == [3, 1]
    assert world.object_names() == set()
    for name in names:  # from the beginning again, the next time
        world.context.bucket.put(name, io.BytesIO(b"x"), "image/png")
    world.shift(hours=2)
    world.sweep()
    assert world.object_names() == set()


def test_an_interrupted_search_of_the_bucket_continues_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "_PAGE", 2)
    strangers(world, 5)
    listed, asked = world.context.bucket.names, []

    def cut_off_once(after=None):
        asked.append(after)
        if len(asked) == 2:
            raise ApiError(SERVICE_UNAVAILABLE)
        return listed(after)

    monkeypatch.setattr(world.context.bucket, "names", cut_off_once)
    assert cleanup.remove_orphans(world.context) == 1
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        cleanup.remove_orphans(world.context)
    world.sweep()
    assert {name[0] for name, _ in listed()} == set("CDE"), "the claim of the interrupted search still holds"
    world.shift(hours=2)
    world.sweep()
    assert asked == [None, "B" * 22 + "/x.png", "B" * 22 + "/x.png", "D" * 22 + "/x.png"]
    assert world.object_names() == set()


def test_unused_generated_files_are_removed_after_a_day(world: World) -> None:
    unused = world.media(generated=True)
    attached = world.media(generated=True)
    cancelled = world.media(generated=True)
    uploaded = world.media()
    world.tell("pst_1", "pending", 1, attached)
    world.tell("pst_2", "pending", 1, cancelled)
    world.tell("pst_2", "released", 2, cancelled)
    world.shift(hours=23)
    world.sweep()
    assert len(world.object_names()) == 4
    world.shift(hours=2)
    world.sweep()
    listed = library.show_list(world.context, world.caller(), api.ListMedia()).media
    assert {it.media_id for it in listed} == {attached.media_id, cancelled.media_id, uploaded.media_id}
    assert not any(unused.url.endswith(name) for name in world.object_names())


def test_a_generated_file_about_to_be_attached_is_not_removed(world: World) -> None:
    media = world.media(generated=True)
    world.shift(hours=25)
    world.attach("pst_1", media)
    world.sweep()
    assert (
        library.show(world.context, world.caller(), api.MediaId(id=media.media_id)).media_id == media.media_id
    )


def test_a_generated_file_waits_for_its_posts_late_event(world: World) -> None:
    media = world.media(generated=True)
    world.shift(hours=23, minutes=55)
    world.attach("pst_1", media)
    for _ in range(2):
        world.shift(hours=11)
        world.sweep()
    world.tell("pst_1", "pending", 1, media)
    world.shift(days=2)
    world.sweep()
    held = library.show(world.context, world.caller(), api.MediaId(id=media.media_id))
    assert held.scheduled_post_id == "pst_1"
    assert len(world.object_names()) == 1


def test_a_generated_file_of_a_post_that_was_never_stored_is_removed_a_day_later(world: World) -> None:
    media = world.media(generated=True)
    world.attach("pst_1", media)
    world.shift(hours=25)
    world.sweep()
    assert world.object_names() == set()


def test_deletion_is_retried_after_an_outage_of_the_storage(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = world.media()

    def away(*_):
        raise ApiError(SERVICE_UNAVAILABLE)

    with monkeypatch.context() as patch:
        patch.setattr(world.context.bucket, "remove_key", away)
        library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
        world.sweep()
        world.run("UPDATE removals SET due_at = clock_timestamp()")
        world.sweep()
    assert world.ask("SELECT attempts FROM removals") == [(2,)]
    assert len(world.object_names()) == 1
    assert world.used() == 0
    world.run("UPDATE removals SET due_at = clock_timestamp()")
    world.sweep()
    assert world.object_names() == set()
    assert world.ask("SELECT 1 FROM removals") == []


def test_an_unfinished_multipart_upload_is_aborted_after_a_day(world: World) -> None:
    request = api.BeginParts(filename="a.mp4", mime_type="video/mp4", size_bytes=uploads.PART_BYTES + 5)
    begun = multipart_uploads.begin(world.context, world.caller(), request)
    assert urllib3.request("PUT", begun.parts[1].url, body=b"12345").status == 200
    world.shift(hours=25)
    world.sweep()
    assert world.used() == 0
    assert urllib3.request("PUT", begun.parts[1].url, body=b"12345").status == 404
    assert world.object_names() == set()


def test_old_revisions_of_posts_are_forgotten(world: World) -> None:
    media = world.media()
    world.tell("pst_1", "published", 1, media)
    world.tell("pst_2", "pending", 1, media)
    world.run("UPDATE posts SET told_at = clock_timestamp() - interval '31 days'")
    world.sweep()
    assert world.ask("SELECT id FROM posts") == [("pst_2",)]
    looked_at = "SELECT id FROM posts WHERE told_at < clock_timestamp() - interval '30 days'"
    assert world.ask(looked_at) == [], "a post that waits for weeks is not looked at by every tick"


def test_posts_that_hold_files_do_not_end_the_search_for_old_posts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "_ROWS", 1)
    media = world.media()
    world.tell("pst_1", "pending", 1, media)
    world.tell("pst_2", "published", 1, media)
    world.run("UPDATE posts SET told_at = clock_timestamp() - interval '32 days' WHERE id = 'pst_1'")
    world.run("UPDATE posts SET told_at = clock_timestamp() - interval '31 days' WHERE id = 'pst_2'")
    world.sweep()
    assert world.ask("SELECT id FROM posts") == [("pst_1",)]


def test_old_revisions_of_posts_are_found_by_index(world: World) -> None:
    asked = MagicMock()
    Attachments(asked).forget_posts(timedelta(days=30), 100)
    with world.database.transaction() as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        forget = asked.execute.call_args_list[0].args[0].compile(dialect=connection.dialect)
        plan = connection.exec_driver_sql(f"EXPLAIN {forget}", forget.params).scalars().all()
    assert any("Index Cond: (told_at <" in line for line in plan), plan
