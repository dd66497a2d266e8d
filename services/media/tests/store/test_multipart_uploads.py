"""Multipart uploads: the client sends parts of a fixed size straight to the storage. The file is inspected like any
other.
"""

import pytest
import urllib3
from media_kit import samples
from media_kit.world import World

from contracts import media as api
from contracts.caller import Caller
from contracts.errors import ApiError
from media.files import multipart_uploads, uploads


@pytest.fixture
def film() -> bytes:
    return samples.film(filler_bytes=uploads.PART_BYTES, in_movie=samples.PLACE_BOXES["udta xyz"])


def begin(world: World, film: bytes, caller: Caller | None = None, **fields):
    fields = {"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": len(film)} | fields
    return multipart_uploads.begin(world.context, caller or world.caller(), api.BeginParts(**fields))


def put(begun: api.UploadParts, data: bytes, *numbers):
    tags = []
    for part in begun.parts:
        if not numbers or part.number in numbers:
            start = (part.number - 1) * begun.part_size_bytes
            answer = urllib3.request("PUT", part.url, body=data[start : start + begun.part_size_bytes])
            assert answer.status == 200, answer.data
            tags.append(api.PartTag(number=part.number, etag=answer.headers["ETag"]))
    return tuple(tags)


def complete(world: World, begun: api.UploadParts, tags: bool):
    return multipart_uploads.complete(
        world.context, world.caller(), api.CompleteParts(id=begun.upload_id, parts=tags)
    )


def test_a_multipart_video_becomes_media_without_its_location(world: World, film: bytes) -> None:
    begun = begin(world, film)
    assert [part.number for part in begun.parts] == [1, 2]
    media = complete(world, begun, put(begun, film)[::-1])
    assert (media.width, media.duration_seconds) == (64, 2.5)
    name = "/".join(media.url.split("/")[-2:])
    stored = b"".join(world.context.bucket.pieces(name))
    assert uploads.PART_BYTES < len(stored) == media.size_bytes == world.used()
    assert not samples.tells_place(stored)
    assert complete(world, begun, put_tags(begun)).media_id == media.media_id


def put_tags(begun: api.UploadParts):
    return tuple(api.PartTag(number=part.number, etag="x") for part in begun.parts)


def test_a_part_has_exactly_the_announced_size(world: World, film: bytes) -> None:
    begun = begin(world, film)
    for size in (1, begun.part_size_bytes + 1):
        assert urllib3.request("PUT", begun.parts[0].url, body=bytes(size)).status == 403


def test_missing_parts_may_still_be_put(world: World, film: bytes) -> None:
    begun = begin(world, film)
    first = put(begun, film, 1)
    for tags in (first, (*first, *first), (*first, api.PartTag(number=2, etag="made up"))):
        with pytest.raises(ApiError, match="UPLOAD_ERROR"):
            complete(world, begun, tags)
    assert complete(world, begun, (*first, *put(begun, film, 2))).type == "video"


def test_a_completion_continues_after_a_death_behind_the_assembly(world: World, film: bytes) -> None:
    begun = begin(world, film)
    tags = put(begun, film)
    (row,) = world.ask("SELECT key, slug, parts_id FROM uploads")
    world.context.bucket.complete_parts(
        f"{row.key}/{row.slug}", row.parts_id, [(it.number, it.etag) for it in tags]
    )
    assert complete(world, begun, tags).duration_seconds == 2.5


def test_a_completion_continues_after_a_death_behind_the_replacement(world: World) -> None:
    picture = samples.placed("image/jpeg")
    begun = begin(world, picture, filename="a.jpg", mime_type="image/jpeg")
    tags = put(begun, picture)
    with world.unanswered(), pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        complete(world, begun, tags)
    media = complete(world, begun, tags)
    assert media.size_bytes < len(picture)
    assert world.used() == media.size_bytes


def test_a_repeated_operation_is_the_same_upload(world: World, film: bytes) -> None:
    caller = world.caller()
    first = begin(world, film, caller)
    tags = put(first, film, 1)
    again = begin(world, film, caller)
    assert (again.upload_id, again.expires_at) == (first.upload_id, first.expires_at)
    assert world.used() == len(film)
    assert complete(world, again, (*tags, *put(again, film, 2))).type == "video"
    assert begin(world, film).upload_id != begin(world, film).upload_id


def test_a_begin_that_died_before_the_storage_answered_is_replaced(world: World, film: bytes) -> None:
    caller = world.caller()
    first = begin(world, film, caller)
    world.run("UPDATE uploads SET parts_id = NULL")
    (key,) = world.ask("SELECT key FROM uploads")
    assert begin(world, film, caller).upload_id != first.upload_id
    assert world.used() == len(film)
    assert world.ask("SELECT key FROM removals") == [key]


def test_parts_that_are_not_a_video_are_removed(world: World, film: bytes) -> None:
    begun = begin(world, film)
    with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
        complete(world, begun, put(begun, b"<html>" + film[6:]))
    assert world.object_names() == set()
    assert world.used() == 0


def test_the_tiers_limits_apply_to_multipart_uploads(world: World, film: bytes) -> None:
    with pytest.raises(ApiError, match="FILE_TOO_LARGE"):
        begin(world, film, size_bytes=251 * 2**20)
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        begin(world, film, mime_type="application/zip")
