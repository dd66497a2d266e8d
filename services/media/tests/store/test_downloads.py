"""Files for posts that go out, and the JPEG of those that are none."""

import io

import pytest
import urllib3
from PIL import Image

from chassis.sandbox.pool import SandboxPool
from contracts import media as api
from contracts.errors import ApiError
from media.files import downloads, library


def upload(world, data, mime_type):
    fields = {"filename": f"a.{world.make.ENDINGS[mime_type]}", "mime_type": mime_type}
    return world.commit(world.put(data, **fields), len(data))


def get(world, *media, caller=None, jpeg=False):
    request = api.GetFiles(media_ids=tuple(it.media_id for it in media), jpeg=jpeg)
    return downloads.get_files(world.context, caller or world.caller(), request).files


def opened(address):
    return Image.open(io.BytesIO(urllib3.request("GET", address).data))


def test_bytes_and_the_public_address_in_the_order_asked_for(world):
    first, second = world.media(), world.media()
    found = get(world, second, first)
    assert [it.media_id for it in found] == [second.media_id, first.media_id]
    assert found[0].public_url == second.url
    assert len(urllib3.request("GET", found[0].source_url).data) == second.size_bytes
    with pytest.raises(ApiError, match="NOT_FOUND"):
        get(world, first, caller=world.caller("usr_b"))


def test_a_see_through_picture_becomes_a_jpeg_on_white(world):
    file = io.BytesIO()
    Image.new("RGBA", (20, 10), (0, 0, 0, 0)).save(file, "PNG")
    (made,) = get(world, upload(world, file.getvalue(), "image/png"), jpeg=True)
    assert (made.mime_type, made.public_url[-5:]) == ("image/jpeg", "a.jpg"[-5:])
    with opened(made.source_url) as image:
        assert (image.format, image.size, image.getpixel((5, 5))) == ("JPEG", (20, 10), (255, 255, 255))


@pytest.mark.parametrize("mime_type", ["image/gif", "image/webp"])
def test_an_animation_becomes_its_first_frame(world, mime_type):
    (made,) = get(world, upload(world, world.make.animation(mime_type), mime_type), jpeg=True)
    with opened(made.source_url) as image:
        assert image.size == (20, 10)
        assert max(image.getpixel((5, 5))) < 20


@pytest.mark.parametrize("mime_type", ["image/png", "image/webp"])
def test_a_lying_picture_becomes_an_upright_jpeg(world, mime_type):
    media = upload(world, world.make.placed(mime_type, 6), mime_type)
    (made,) = get(world, media, jpeg=True)
    with opened(made.source_url) as image:
        assert image.size == (made.width, made.height) == (30, 40)
        # The gradient was dark above and light below; turned clockwise it is dark on the right.
        assert image.convert("L").getpixel((28, 20)) < 30 < image.convert("L").getpixel((1, 20))
        assert not image.getexif()


def test_jpegs_and_films_stay_what_they_are(world):
    photo = upload(world, world.make.picture(), "image/jpeg")
    film = upload(world, world.make.film(), "video/mp4")
    assert [it.mime_type for it in get(world, photo, film, jpeg=True)] == ["image/jpeg", "video/mp4"]


def test_the_jpeg_is_made_once_is_public_does_not_count_and_goes_with_its_picture(world, at_once):
    media = world.media()
    results = at_once(4, lambda _: get(world, media, jpeg=True)[0])
    assert len({(it.public_url, it.size_bytes) for it in results}) == 1
    assert len(world.objects()) == 2
    assert world.used() == media.size_bytes
    key, filename = results[0].public_url.split("/")[-2:]
    located = library.locate(world.context, api.LocateFile(key=key, filename=filename))
    assert (located.mime_type, located.size_bytes) == ("image/jpeg", results[0].size_bytes)
    world.context.workshop.close()
    world.context.workshop = None  # nothing is made again
    assert get(world, media, jpeg=True)[0].size_bytes == results[0].size_bytes
    world.context.workshop = SandboxPool("media.decoder.functions")
    library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
    world.sweep()
    assert world.objects() == set()


def test_a_jpeg_larger_than_every_platform_takes_is_made_anew(world):
    media = world.media()
    (made,) = get(world, media, jpeg=True)
    for size in (downloads.MAX_JPEG_BYTES, downloads.MAX_JPEG_BYTES + 1):
        world.run("UPDATE media SET jpeg_size_bytes = :size", size=size)
        (found,) = get(world, media, jpeg=True)
        assert found.size_bytes == (size if size <= downloads.MAX_JPEG_BYTES else made.size_bytes)
    assert world.ask("SELECT jpeg_size_bytes FROM media") == [(made.size_bytes,)]


def test_a_picture_deleted_while_its_jpeg_is_made_leaves_nothing(world, monkeypatch):
    media = world.media()
    run = world.context.workshop.run

    def deleted_meanwhile(*arguments):
        library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
        world.sweep()
        return run(*arguments)

    monkeypatch.setattr(world.context.workshop, "run", deleted_meanwhile)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        get(world, media, jpeg=True)
    assert world.objects() == set()


def test_an_address_is_found_by_its_whole_name_and_not_after_its_file_was_deleted(world):
    media = world.media()
    key, filename = media.url.split("/")[-2:]
    assert (
        library.locate(world.context, api.LocateFile(key=key, filename=filename)).size_bytes
        == media.size_bytes
    )
    for wrong in (("x" * 22, filename), (key, "b.png"), (key, "a.jpg")):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            library.locate(world.context, api.LocateFile(key=wrong[0], filename=wrong[1]))
    library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
    with pytest.raises(ApiError, match="NOT_FOUND"):
        library.locate(world.context, api.LocateFile(key=key, filename=filename))
