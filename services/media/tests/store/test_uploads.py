"""Each upload is kept or removed, once. A generated file is stored once, however often it is committed."""

import io

import msgspec
import pytest
from media_kit import samples
from media_kit.world import World, at_once
from sqlalchemy.exc import IntegrityError

from contracts import media as api
from contracts.errors import ApiError
from contracts.plans import PLANS
from media.files import downloads, library, uploads
from media.storage.bucket import Bucket


def test_a_refused_file_leaves_nothing(world: World) -> None:
    data = b"<html></html>"
    ticket = world.put(data)
    with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
        world.commit(ticket, len(data))
    assert world.object_names() == set()
    assert world.used() == 0
    assert world.ask("SELECT 1 FROM uploads UNION ALL SELECT 1 FROM removals") == []
    with pytest.raises(ApiError, match="NOT_FOUND"):
        world.commit(ticket, len(data))


@pytest.mark.parametrize("arrived", [-1, 1])
def test_a_file_of_another_size_than_announced_is_refused(world: World, arrived) -> None:
    data = samples.picture("image/png")
    ticket = world.put(data)
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        world.commit(ticket, len(data) + arrived)
    assert world.object_names() == set()


def test_a_file_larger_than_its_reservation_is_refused(world: World) -> None:
    data = samples.picture("image/png")
    ticket = world.begin(10)
    world.context.bucket.put(
        "/".join(ticket.url.split("?")[0].split("/")[-2:]), io.BytesIO(data), "image/png"
    )
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        world.commit(ticket, len(data))
    assert world.object_names() == set()


def test_nothing_arrived_is_refused(world: World) -> None:
    ticket = world.begin(100)
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        world.commit(ticket, 100)
    assert world.used() == 0


def test_a_repeated_commit_returns_the_same(world: World) -> None:
    data = samples.picture("image/png")
    ticket = world.put(data)
    first = world.commit(ticket, len(data))
    assert world.commit(ticket, len(data)) == first
    assert len(world.ask("SELECT 1 FROM media")) == 1


def test_of_two_simultaneous_commits_one_keeps_the_file_and_the_other_learns_of_it_or_retries(
    world: World,
) -> None:
    data = samples.picture("image/png")
    ticket = world.put(data)
    results = at_once(4, lambda _: world.commit(ticket, len(data)))
    kept = {it.media_id for it in results if isinstance(it, api.UploadedMedia)}
    refused = {it.code for it in results if isinstance(it, ApiError)}
    assert len(kept) == 1
    assert refused <= {"SERVICE_UNAVAILABLE"}
    assert len(world.ask("SELECT 1 FROM media")) == 1


def test_one_operation_of_ai_makes_one_file(world: World) -> None:
    caller = world.caller()
    first = world.media(caller, generated=True)
    assert world.media(caller, generated=True).media_id == first.media_id
    world.sweep()
    assert len(world.object_names()) == 1
    assert world.used() == first.size_bytes


def test_processes_that_copy_the_same_file_at_once_get_the_same_copy(world: World) -> None:
    copier, data = world.caller(api.owner_of_copies("usr_a")), samples.picture("image/png")
    tickets = [world.put(data, copier, generated=True) for _ in range(3)]
    copies = at_once(3, lambda number: world.commit(tickets[number], len(data), copier).media_id)
    assert copies == [copies[0]] * 3
    world.sweep()
    assert len(world.object_names()) == 1
    assert world.used(copier.account_id) == len(data)


def test_uploads_of_one_operation_are_not_mixed_up(world: World) -> None:
    caller = world.caller()
    assert world.media(caller).media_id != world.media(caller).media_id


def test_an_aborted_upload_leaves_nothing_and_may_be_aborted_again(world: World) -> None:
    ticket, caller = world.put(samples.picture("image/png")), world.caller()
    request = api.UploadId(upload_id=ticket.upload_id)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        uploads.abort(world.context, world.caller("usr_b"), request)
    uploads.abort(world.context, caller, request)
    uploads.abort(world.context, caller, request)
    assert world.object_names() == set()
    assert world.used() == 0


def test_another_accounts_upload_is_not_found(world: World) -> None:
    data = samples.picture("image/png")
    ticket = world.put(data)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        world.commit(ticket, len(data), world.caller("usr_b"))
    assert world.commit(ticket, len(data)).size_bytes == len(data)


def test_an_upload_that_a_token_of_another_brand_began_is_not_found(world: World) -> None:
    data, other = samples.picture("image/png"), world.caller(brand_ids=("brd_b",))
    ticket = world.put(data, world.caller(brand_ids=("brd_a",)))
    with pytest.raises(ApiError, match="NOT_FOUND"):
        world.commit(ticket, len(data), other)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        uploads.abort(world.context, other, api.UploadId(upload_id=ticket.upload_id))
    made = world.commit(ticket, len(data), world.caller(brand_ids=("brd_a",)))
    with pytest.raises(ApiError, match="NOT_FOUND"):
        world.commit(ticket, len(data), other)
    assert made.size_bytes == len(data)


@pytest.mark.parametrize("made_up", ["", "upl_x", "a\0b", "é" * 300])
def test_made_up_ids_are_not_found(world: World, made_up) -> None:
    caller = world.caller()
    for call in (
        lambda: uploads.commit(world.context, caller, api.CommitUpload(upload_id=made_up, size_bytes=1)),
        lambda: library.show(world.context, caller, api.MediaId(id=made_up)),
        lambda: library.delete(world.context, caller, api.MediaId(id=made_up)),
        lambda: downloads.locate(world.context, api.LocateFile(key=made_up, filename=made_up)),
    ):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            call()


def test_a_storage_that_is_away_refuses_nothing_for_good(world: World) -> None:
    data = samples.picture("image/png")
    ticket, there = world.put(data), world.context.bucket
    nowhere = msgspec.structs.replace(world.context.settings, s3_url="http://127.0.0.1:9")
    world.context.bucket = Bucket(nowhere)
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        world.commit(ticket, len(data))
    assert world.used() == len(data)
    world.context.bucket = there
    assert world.commit(ticket, len(data)).size_bytes == len(data)


@pytest.mark.parametrize("generated", [False, True])
@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/webp"])
def test_a_commit_continues_after_an_unanswered_replacement_of_the_image(
    world: World, mime_type: str, generated: bool
) -> None:
    data, caller = samples.placed(mime_type), world.caller()
    fields = {
        "filename": f"a.{samples.ENDINGS[mime_type]}",
        "mime_type": mime_type,
        "generated": generated,
    }
    ticket = world.put(data, caller, **fields)
    with world.unanswered(), pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        world.commit(ticket, len(data), caller)
    media = world.commit(ticket, len(data), caller)
    assert media.size_bytes < len(data)
    assert world.used() == media.size_bytes
    (name,) = world.object_names()
    stored = b"".join(world.context.bucket.pieces(name))
    assert len(stored) == media.size_bytes
    assert not samples.tells_place(stored)


@pytest.mark.parametrize("mime_type", ["image/heic", "image/avif"])
def test_a_commit_continues_after_an_unanswered_replacement_by_a_jpeg(world: World, mime_type: str) -> None:
    data = samples.converted(mime_type)
    ticket = world.put(data, filename="IMG_1.HEIC", mime_type=mime_type)
    with world.unanswered(), pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        world.commit(ticket, len(data))
    media = world.commit(ticket, len(data))
    assert (media.mime_type, media.filename, media.url[-10:]) == ("image/jpeg", "IMG_1.HEIC", "/IMG_1.jpg")
    assert world.used() == media.size_bytes
    (name,) = world.object_names()
    stored = b"".join(world.context.bucket.pieces(name))
    assert stored.startswith(b"\xff\xd8\xff")
    assert not samples.tells_place(stored)


def test_an_image_that_grows_beyond_the_quota_is_refused_and_leaves_nothing(world: World) -> None:
    free = world.caller(tier="free")
    data = samples.avif()
    ticket = world.put(data, free, filename="a.avif", mime_type="image/avif")
    with world.database.reading() as connection:
        left = world.context.storage(connection, free).remaining_bytes
    for size_bytes in [PLANS["free"].max_file_bytes] * 3 + [left - 3 * PLANS["free"].max_file_bytes]:
        world.begin(size_bytes, free)
    with pytest.raises(ApiError, match="QUOTA_EXCEEDED"):
        world.commit(ticket, len(data), free)
    assert world.object_names() == set()
    assert world.used() == left


@pytest.mark.parametrize("mime_type", samples.ENDINGS)
def test_a_file_without_a_declared_type_is_stored_under_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch, mime_type: str
) -> None:
    data, put, types = samples.good(mime_type), world.context.bucket.put, []

    def noted(name, file, stored_type):
        types.append(stored_type)
        return put(name, file, stored_type)

    monkeypatch.setattr(world.context.bucket, "put", noted)
    ticket = world.put(data, filename="IMG_0001", mime_type="application/octet-stream")
    media = world.commit(ticket, len(data))
    assert (media.mime_type, types) == (mime_type, [mime_type])
    assert media.type == ("video" if mime_type.startswith("video/") else "photo")


def test_the_jpeg_copy_of_an_image_that_is_named_jpg_is_not_the_image(world: World) -> None:
    data = samples.picture("image/png")
    ticket = world.put(data, filename="a.jpg", mime_type="application/octet-stream")
    media, caller = world.commit(ticket, len(data)), world.caller()
    request = api.GetFiles(media_ids=(media.media_id,), jpeg=True)
    (copy,) = downloads.get_files(world.context, caller, request).files
    assert copy.mime_type == "image/jpeg"
    names = {name.partition("/")[2]: name for name in world.object_names()}
    assert b"".join(world.context.bucket.pieces(names["a.jpg"])) == data
    assert not copy.public_url.endswith("/a.jpg")


def test_a_shorter_file_of_unknown_origin_is_refused_as_before(world: World) -> None:
    data = samples.placed("image/jpeg")
    ticket = world.put(data, filename="a.jpg", mime_type="image/jpeg")
    name = "/".join(ticket.url.split("?")[0].split("/")[-2:])
    with world.unanswered(), pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        world.commit(ticket, len(data))
    other = samples.picture()[:-5]
    world.context.bucket.put(name, io.BytesIO(other), "image/jpeg")
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        world.commit(ticket, len(data))
    assert world.object_names() == set()


def test_an_unexpected_error_of_an_inspection_releases_the_upload(world: World) -> None:
    data = samples.picture("image/png")
    ticket = world.put(data)
    world.run("ALTER TABLE media ADD CONSTRAINT unforeseen CHECK (width < 10)")
    with pytest.raises(IntegrityError):
        world.commit(ticket, len(data))
    world.run("ALTER TABLE media DROP CONSTRAINT unforeseen")
    assert world.commit(ticket, len(data)).size_bytes == len(data) == world.used()


def test_the_address_of_a_generated_file_does_not_tell_its_prompt(world: World) -> None:
    made = world.media(filename="A surprise for Ada.png", generated=True)
    assert made.filename == "A surprise for Ada.png"
    assert made.url.endswith("/file.png")


def test_a_list_is_narrowed_to_photos_videos_unused_files_and_names(world: World) -> None:
    bread, window = world.media(filename="Bread.png"), world.media(filename="100%_window.png")

    def names(**filters: object) -> list[str]:
        found = library.show_list(world.context, world.caller(), api.ListMedia(**filters))
        return [it.filename for it in found.media]

    assert names(type="photo") == ["100%_window.png", "Bread.png"]
    assert names(type="video") == []
    assert (names(search="BREAD"), names(search="0%_"), names(search="n%w")) == (
        ["Bread.png"], ["100%_window.png"], [],
    )  # fmt: skip
    world.attach("pst_1", bread)
    world.tell("pst_1", "pending", 1, bread)
    assert names(unused=True) == ["100%_window.png"]
    world.tell("pst_1", "cancelled", 2)
    assert names(unused=True) == ["100%_window.png", "Bread.png"]
    world.attach("pst_2", window)
    world.tell("pst_2", "published", 1, window)
    assert names(unused=True) == ["Bread.png"]
    assert names(unused=True, search="window") == []


def test_a_narrowed_list_reads_a_bounded_number_of_files_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("media.store.files._READ", 2)
    for caller in (world.caller(), world.caller(brand_ids=("brd_a",))):
        for name in ("Bread.png", *5 * ("Window.png",)):
            world.media(caller, filename=name)
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            request = api.ListMedia(search="bread", cursor=cursor)
            page = library.show_list(world.context, caller, request)
            found, cursor, pages = [*found, *page.media], page.next_cursor, pages + 1
            assert pages < 10
        assert [it.filename for it in found] == ["Bread.png"]
        assert pages >= 3
        with monkeypatch.context() as usual:
            usual.setattr("media.store.files._READ", 1_000)
            page = library.show_list(world.context, caller, api.ListMedia(search="bread", limit=1))
        assert [it.filename for it in page.media] == ["Bread.png"]


def test_files_are_listed_newest_first_in_pages(world: World) -> None:
    made = [world.media().media_id for _ in range(5)]
    seen, cursor = [], None
    while True:
        page = library.show_list(world.context, world.caller(), api.ListMedia(limit=2, cursor=cursor))
        seen += [media.media_id for media in page.media]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == made[::-1]
    for cursor in ("x", "WyJhIl0", "WyIyMDI2LTAxLTAxIiwieCJd"):
        with pytest.raises(ApiError, match="VALIDATION_ERROR"):
            library.show_list(world.context, world.caller(), api.ListMedia(cursor=cursor))


def test_files_are_listed_by_id_in_the_asked_order_without_those_of_others(world: World) -> None:
    first, second = (world.media().media_id for _ in range(2))
    foreign = world.media(world.caller("usr_b")).media_id
    asked = api.ListMedia(media_ids=f"{second},{foreign},med_none,{first},{second}", limit=1)
    listed = library.show_list(world.context, world.caller(), asked)
    assert [it.media_id for it in listed.media] == [second, first]
    assert listed.next_cursor is None


def test_a_token_of_brands_sees_only_what_its_brands_made(world: World) -> None:
    of_both, of_a = world.caller(brand_ids=("brd_a", "brd_b")), world.caller(brand_ids=("brd_a",))
    from_both, from_a, from_all = world.media(of_both), world.media(of_a), world.media()

    def sees(caller):
        listed = library.show_list(world.context, caller, api.ListMedia()).media
        return [media.media_id for media in listed]

    assert sees(of_a) == [from_a.media_id]
    assert sees(of_both) == [from_a.media_id, from_both.media_id]
    assert sees(world.caller()) == [from_all.media_id, from_a.media_id, from_both.media_id]
    assert sees(world.caller("usr_b")) == sees(world.caller(brand_ids=())) == []
    for hidden in (from_both, from_all):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            library.delete(world.context, of_a, api.MediaId(id=hidden.media_id))
    library.delete(world.context, of_a, api.MediaId(id=from_a.media_id))
