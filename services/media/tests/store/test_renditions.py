"""Renditions: each is requested, made once, found again, and deleted when no post needs it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import urllib3
from media_kit import samples
from media_kit.world import World, at_once
from PIL import Image

from chassis.sandbox.pool import NotStarted, OutOfLimits
from contracts import media as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from media.files import attachments, downloads, library, renditions
from media.inspection import rendition_making
from media.inspection.ffmpeg import FfmpegEnded
from media.store.files import Files
from media.store.renditions import Renditions

POST = "pst_1"


def photo(
    world: World, size: tuple[int, int] = (1_200, 1_440), mime_type: str = "image/png"
) -> api.UploadedMedia:
    data = samples.picture(mime_type, size)
    fields = {"filename": "a.png", "mime_type": mime_type}
    return world.commit(world.put(data, **fields), len(data))


def attach(world: World, media: api.Media, *platforms: str, post_id: str = POST) -> None:
    request = api.AttachMedia(post_id=post_id, media_ids=(media.media_id,), revision=1, platforms=platforms)
    attachments.attach(world.context, world.caller(), request)


def get(world: World, media: api.Media, platform: str) -> api.MediaFile:
    request = api.GetFiles(media_ids=(media.media_id,), platform=platform)
    return downloads.get_files(world.context, world.caller(), request).files[0]


def states(world: World) -> list[str]:
    return [row[0] for row in world.ask("SELECT state FROM renditions ORDER BY state")]


def make_all(world: World) -> None:
    """Runs the worker loop until no rendition is pending."""
    while renditions.make_due(world.context):
        assert world.context.rendition_pool.wait_idle(20)


def forget(world: World) -> None:
    while renditions.forget_unneeded(world.context):
        """Once more."""


def lapse(world: World) -> None:
    """Ends the leases of all renditions."""
    world.run("UPDATE renditions SET lease_until = clock_timestamp() - interval '1 second'")


def test_an_attached_file_is_made_to_fit_its_platforms_once_for_equal_needs(world: World) -> None:
    media = photo(world)
    attach(world, media, "IG", "TT", "LN", "FB", "TW", "YT")
    assert states(world) == ["pending", "pending"]  # a JPEG for Instagram, a smaller one for TikTok
    make_all(world)
    assert states(world) == ["made", "made"]
    made = world.ask("SELECT tries FROM renditions")
    for platform, size in (("IG", (1_200, 1_440)), ("TT", (1_080, 1_296))):
        file = get(world, media, platform)
        data = urllib3.request("GET", file.source_url).data
        assert (file.mime_type, file.size_bytes) == ("image/jpeg", len(data))
        assert Image.open(io.BytesIO(data)).size == (file.width, file.height) == size
    assert get(world, media, "FB").public_url == media.url
    assert world.ask("SELECT tries FROM renditions") == made == [(1,), (1,)]


def test_the_rendition_has_a_public_address_of_its_own_and_does_not_count(world: World) -> None:
    media = photo(world)
    used = world.used()
    file = get(world, media, "IG")
    assert file.public_url != media.url
    assert world.used() == used
    key, filename = file.public_url.split("/")[-2:]
    located = downloads.locate(world.context, api.LocateFile(key=key, filename=filename))
    assert (located.mime_type, located.size_bytes) == ("image/jpeg", file.size_bytes)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        downloads.locate(world.context, api.LocateFile(key=key, filename=f"x{filename}"))


def test_calls_at_the_same_time_make_a_picture_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    media, made = photo(world), []
    run = world.context.sandbox_pool.run

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(1)
        return run(*arguments, **options)

    monkeypatch.setattr(world.context.sandbox_pool, "run", counted)
    files = at_once(4, lambda _: get(world, media, "IG"))
    assert len({file.public_url for file in files}) == 1
    assert made == [1]


def test_a_rendition_whose_process_was_killed_is_made_by_another_and_leaves_one_object(world: World) -> None:
    media = photo(world)
    attach(world, media, "IG")
    with world.database.transaction() as connection:
        [claimed] = Renditions(connection).claim_due("photo", 5, timedelta(seconds=30))
    world.context.bucket.put(f"{media.url.split('/')[-2]}/{claimed.slug}", io.BytesIO(b"half"), "image/jpeg")
    assert renditions.make_due(world.context) == 0  # the claim holds
    lapse(world)
    make_all(world)
    assert get(world, media, "IG").size_bytes > 4
    assert len(world.object_names()) == 2


def test_a_file_that_ends_its_process_each_time_is_given_up(world: World) -> None:
    media = photo(world)
    attach(world, media, "IG")
    world.run("UPDATE renditions SET tries = 5")
    make_all(world)
    with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
        get(world, media, "IG")
    attach(world, media, "IG", post_id="pst_2")  # another post tries again
    make_all(world)
    assert states(world) == ["made"]


def test_a_picture_that_cannot_be_made_is_refused_with_advice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = photo(world)

    def fail(*arguments: Any, **options: Any) -> Any:
        raise OutOfLimits("memory")

    monkeypatch.setattr(world.context.sandbox_pool, "run", fail)
    for _ in range(2):
        with pytest.raises(ApiError, match="Export it as JPEG"):
            get(world, media, "IG")


@pytest.mark.parametrize("problem", [NotStarted("busy"), ApiError(SERVICE_UNAVAILABLE), OSError("full")])
def test_a_failure_that_is_not_the_files_is_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    media = photo(world)

    def fail(*arguments: Any, **options: Any) -> Any:
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(world.context.sandbox_pool, "run", fail)
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            get(world, media, "IG")
        attach(world, media, "IG")
    assert states(world) == ["pending"]
    lapse(world)
    make_all(world)
    assert states(world) == ["made"]


def test_an_outage_of_any_length_uses_up_no_tries(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    media = photo(world)
    attach(world, media, "IG")

    def away(*arguments: Any, **options: Any) -> Any:
        raise ApiError(SERVICE_UNAVAILABLE)

    with monkeypatch.context() as patch:
        patch.setattr(world.context.bucket, "download", away)
        for _ in range(8):
            assert renditions.make_due(world.context) == 1
            assert world.context.rendition_pool.wait_idle(20)
            lapse(world)
    make_all(world)
    assert states(world) == ["made"]


def test_a_file_that_ends_ffmpeg_each_time_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    media = photo(world)
    attach(world, media, "IG")

    def ended(*arguments: Any, **options: Any) -> Any:
        raise FfmpegEnded(SERVICE_UNAVAILABLE)

    monkeypatch.setattr(rendition_making, "make", ended)
    for _ in range(6):
        assert renditions.make_due(world.context) == 1
        assert world.context.rendition_pool.wait_idle(20)
        lapse(world)
    assert states(world) == ["failed"]


def test_a_call_without_a_slot_leaves_the_rendition_to_others_soon(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = photo(world)

    @contextmanager
    def busy(_: str) -> Iterator[None]:
        raise ApiError(SERVICE_UNAVAILABLE)
        yield

    monkeypatch.setattr(world.context, "inspection_slot", busy)
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        get(world, media, "IG")
    soon = "lease_until < clock_timestamp() + interval '10 seconds'"
    assert world.ask(f"SELECT {soon}, tries FROM renditions") == [(True, 0)]


def test_what_a_due_post_asks_for_again_is_made_before_what_was_attached_earlier(world: World) -> None:
    due, later = photo(world), photo(world)
    attach(world, due, "IG")
    attach(world, later, "IG", post_id="pst_2")
    with world.database.transaction() as connection:
        row = Files(connection).many([due.media_id])[due.media_id]
        renditions.begin(connection, [row], ["IG"])
    with world.database.transaction() as connection:
        [first] = Renditions(connection).claim_due("photo", 1, timedelta(seconds=30))
    assert first.media_id == due.media_id


def test_a_process_that_lost_its_claim_does_not_fail_what_another_has_made(world: World) -> None:
    media = photo(world)
    attach(world, media, "IG")
    with world.database.transaction() as connection:
        [lost] = Renditions(connection).claim_due("photo", 1, timedelta(seconds=30))
    lapse(world)
    make_all(world)
    with world.database.transaction() as connection:
        Renditions(connection).fail(lost.id, "too late")
    assert states(world) == ["made"]


def test_a_call_waits_for_a_rendition_that_is_being_made_and_then_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = photo(world)
    attach(world, media, "IG")
    with world.database.transaction() as connection:
        Renditions(connection).claim_due("photo", 5, timedelta(seconds=30))
    monkeypatch.setattr(renditions, "_WAIT_SECONDS", 0.0)
    with pytest.raises(ApiError, match="MEDIA_PROCESSING") as error:
        get(world, media, "IG")
    assert error.value.extras == {"retry_after_seconds": 2, "media_id": media.media_id}


def test_a_call_tells_how_much_of_a_rendition_is_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    media = photo(world)
    attach(world, media, "IG")
    with world.database.transaction() as connection:
        [claimed] = Renditions(connection).claim_due("photo", 5, timedelta(seconds=30))
    world.context.held_renditions[claimed.id] = 0.42
    renditions.renew_claims(world.context)
    monkeypatch.setattr(renditions, "_WAIT_SECONDS", 0.0)
    with pytest.raises(ApiError, match="MEDIA_PROCESSING") as error:
        get(world, media, "IG")
    assert ": 42 % is done. Nothing was sent." in error.value.message


def test_renditions_are_kept_while_a_post_has_the_file_and_for_a_day(world: World) -> None:
    media = photo(world)
    attach(world, media, "IG")
    make_all(world)
    world.tell(POST, "pending", 1, media)
    world.shift(hours=25)
    forget(world)
    assert states(world) == ["made"]
    world.tell(POST, "released", 2, media)
    get(world, media, "IG")
    forget(world)
    assert len(world.object_names()) == 2
    world.shift(hours=25)
    forget(world)
    assert states(world) == []
    assert len(world.object_names()) == 1
    get(world, media, "IG")  # and made anew
    assert len(world.object_names()) == 2


def test_a_rendition_stays_known_until_its_object_is_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = photo(world)
    get(world, media, "IG")
    world.shift(hours=25)

    def away(name: str) -> None:
        raise ApiError(SERVICE_UNAVAILABLE)

    with monkeypatch.context() as patch:
        patch.setattr(world.context.bucket, "remove", away)
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            forget(world)
    assert states(world) == ["unneeded"]
    get(world, media, "IG")
    assert states(world) == ["made", "unneeded"]
    forget(world)
    assert states(world) == ["made"]
    assert len(world.object_names()) == 2


def test_a_deleted_file_takes_its_renditions_along(world: World) -> None:
    media = photo(world)
    get(world, media, "IG")
    library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
    world.sweep()
    assert states(world) == []
    assert world.object_names() == set()
