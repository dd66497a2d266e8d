"""Uploads in parts: straight into storage, each part of just its size, and looked at like any other."""

import pytest
import urllib3

from contracts import media as api
from contracts.errors import ApiError
from media.files import multipart_uploads


@pytest.fixture
def film(make):
    return make.film(mdat=bytes(multipart_uploads.PART_BYTES), in_movie=make.PLACE_BOXES["udta xyz"])


def begin(world, film, caller=None, **fields):
    fields = {"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": len(film)} | fields
    return multipart_uploads.begin(world.context, caller or world.caller(), api.BeginParts(**fields))


def put(begun, data, *numbers):
    tags = []
    for part in begun.parts:
        if not numbers or part.number in numbers:
            start = (part.number - 1) * begun.part_size_bytes
            answer = urllib3.request("PUT", part.url, body=data[start : start + begun.part_size_bytes])
            assert answer.status == 200, answer.data
            tags.append(api.PartTag(number=part.number, etag=answer.headers["ETag"]))
    return tuple(tags)


def complete(world, begun, tags):
    return multipart_uploads.complete(
        world.context, world.caller(), api.CompleteParts(id=begun.upload_id, parts=tags)
    )


def test_a_film_in_parts_becomes_media_and_loses_its_place(world, film):
    begun = begin(world, film)
    assert [part.number for part in begun.parts] == [1, 2]
    media = complete(world, begun, put(begun, film)[::-1])
    assert (media.size_bytes, media.width, media.duration_seconds) == (len(film), 64, 2.5)
    name = "/".join(media.url.split("/")[-2:])
    stored = b"".join(world.context.objects.pieces(name))
    assert len(stored) == len(film)
    assert not world.make.tells_place(stored)
    assert complete(world, begun, put_tags(begun)).media_id == media.media_id


def put_tags(begun):
    return tuple(api.PartTag(number=part.number, etag="x") for part in begun.parts)


def test_a_part_takes_no_byte_more_or_less_than_announced(world, film):
    begun = begin(world, film)
    for size in (1, begun.part_size_bytes + 1):
        assert urllib3.request("PUT", begun.parts[0].url, body=bytes(size)).status == 403


def test_parts_that_are_missing_may_still_be_put(world, film):
    begun = begin(world, film)
    first = put(begun, film, 1)
    for tags in (first, (*first, *first), (*first, api.PartTag(number=2, etag="made up"))):
        with pytest.raises(ApiError, match="UPLOAD_ERROR"):
            complete(world, begun, tags)
    assert complete(world, begun, (*first, *put(begun, film, 2))).type == "video"


def test_a_completion_that_died_after_the_storage_did_its_part_goes_on(world, film):
    begun = begin(world, film)
    tags = put(begun, film)
    (row,) = world.ask("SELECT key, slug, parts_id FROM uploads")
    world.context.objects.complete_parts(
        f"{row.key}/{row.slug}", row.parts_id, [(it.number, it.etag) for it in tags]
    )
    assert complete(world, begun, tags).size_bytes == len(film)


def test_a_completion_that_died_after_the_picture_was_replaced_goes_on(world, make):
    picture = make.placed("image/jpeg")
    begun = begin(world, picture, filename="a.jpg", mime_type="image/jpeg")
    tags = put(begun, picture)
    with world.unanswered(), pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        complete(world, begun, tags)
    media = complete(world, begun, tags)
    assert media.size_bytes < len(picture)
    assert world.used() == media.size_bytes


def test_the_same_operation_again_is_the_same_upload(world, film):
    caller = world.caller()
    first = begin(world, film, caller)
    tags = put(first, film, 1)
    again = begin(world, film, caller)
    assert (again.upload_id, again.expires_at) == (first.upload_id, first.expires_at)
    assert world.used() == len(film)
    assert complete(world, again, (*tags, *put(again, film, 2))).type == "video"
    assert begin(world, film).upload_id != begin(world, film).upload_id


def test_a_beginning_that_died_before_the_storage_answered_gives_way_to_the_next(world, film):
    caller = world.caller()
    first = begin(world, film, caller)
    world.run("UPDATE uploads SET parts_id = NULL")
    (key,) = world.ask("SELECT key FROM uploads")
    assert begin(world, film, caller).upload_id != first.upload_id
    assert world.used() == len(film)
    assert world.ask("SELECT key FROM removals") == [key]


def test_parts_that_are_no_film_are_removed(world, film):
    begun = begin(world, film)
    with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
        complete(world, begun, put(begun, b"<html>" + film[6:]))
    assert world.objects() == set()
    assert world.used() == 0


def test_the_tiers_limits_hold_for_parts_too(world, film):
    with pytest.raises(ApiError, match="FILE_TOO_LARGE"):
        begin(world, film, size_bytes=251 * 2**20)
    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        begin(world, film, mime_type="application/zip")
