"""The files that the publishing service sends with posts, and JPEG copies of other images."""

import io

import pytest
import urllib3
from media_kit import samples
from media_kit.world import World, at_once
from PIL import Image

from chassis.sandbox.pool import SandboxPool
from contracts import media as api
from contracts.caller import Caller
from contracts.errors import ApiError
from media.files import downloads, library


def upload(world: World, data: bytes, mime_type: str):
    fields = {"filename": f"a.{samples.ENDINGS[mime_type]}", "mime_type": mime_type}
    return world.commit(world.put(data, **fields), len(data))


def get(world: World, *media, caller: Caller | None = None, jpeg=False):
    request = api.GetFiles(media_ids=tuple(it.media_id for it in media), jpeg=jpeg)
    return downloads.get_files(world.context, caller or world.caller(), request).files


def opened(address: str):
    return Image.open(io.BytesIO(urllib3.request("GET", address).data))


def test_urls_are_returned_in_the_requested_order(world: World) -> None:
    first, second = world.media(), world.media()
    found = get(world, second, first)
    assert [it.media_id for it in found] == [second.media_id, first.media_id]
    assert found[0].public_url == second.url
    assert len(urllib3.request("GET", found[0].source_url).data) == second.size_bytes
    with pytest.raises(ApiError, match="NOT_FOUND"):
        get(world, first, caller=world.caller("usr_b"))


def test_a_transparent_image_becomes_a_jpeg_on_white(world: World) -> None:
    file = io.BytesIO()
    Image.new("RGBA", (20, 10), (0, 0, 0, 0)).save(file, "PNG")
    (made,) = get(world, upload(world, file.getvalue(), "image/png"), jpeg=True)
    assert (made.mime_type, made.public_url[-4:]) == ("image/jpeg", ".jpg")
    with opened(made.source_url) as image:
        assert (image.format, image.size, image.getpixel((5, 5))) == ("JPEG", (20, 10), (255, 255, 255))


@pytest.mark.parametrize("mime_type", ["image/gif", "image/webp"])
def test_an_animation_becomes_its_first_frame(world: World, mime_type: str) -> None:
    (made,) = get(world, upload(world, samples.animation(mime_type), mime_type), jpeg=True)
    with opened(made.source_url) as image:
        assert image.size == (20, 10)
        assert max(image.getpixel((5, 5))) < 20


@pytest.mark.parametrize("mime_type", ["image/png", "image/webp"])
def test_a_rotated_image_becomes_an_upright_jpeg(world: World, mime_type: str) -> None:
    media = upload(world, samples.placed(mime_type, 6), mime_type)
    (made,) = get(world, media, jpeg=True)
    with opened(made.source_url) as image:
        assert image.size == (made.width, made.height) == (30, 40)
        # The gradient was dark above and light below; turned clockwise it is dark on the right.
        assert image.convert("L").getpixel((28, 20)) < 30 < image.convert("L").getpixel((1, 20))
        assert not image.getexif()


def test_jpegs_and_videos_are_not_converted(world: World) -> None:
    photo = upload(world, samples.picture(), "image/jpeg")
    film = upload(world, samples.film(), "video/mp4")
    assert [it.mime_type for it in get(world, photo, film, jpeg=True)] == ["image/jpeg", "video/mp4"]


def test_the_jpeg_copy_is_made_once_is_public_uncounted_and_deleted_with_its_image(world: World) -> None:
    media = world.media()
    results = at_once(4, lambda _: get(world, media, jpeg=True)[0])
    assert len({(it.public_url, it.size_bytes) for it in results}) == 1
    assert len(world.object_names()) == 2
    assert world.used() == media.size_bytes
    key, filename = results[0].public_url.split("/")[-2:]
    located = downloads.locate(world.context, api.LocateFile(key=key, filename=filename))
    assert (located.mime_type, located.size_bytes) == ("image/jpeg", results[0].size_bytes)
    world.context.sandbox_pool.close()
    world.context.sandbox_pool = None  # no copy is made again
    assert get(world, media, jpeg=True)[0].size_bytes == results[0].size_bytes
    world.context.sandbox_pool = SandboxPool("media.decoder.functions")
    library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
    world.sweep()
    assert world.object_names() == set()


def test_an_image_deleted_during_its_conversion_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = world.media()
    run = world.context.sandbox_pool.run

    def deleted_meanwhile(*arguments, **options):
        library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
        world.sweep()
        return run(*arguments, **options)

    monkeypatch.setattr(world.context.sandbox_pool, "run", deleted_meanwhile)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        get(world, media, jpeg=True)
    assert world.object_names() == set()


def test_an_address_is_found_by_its_whole_name_and_not_after_its_file_was_deleted(world: World) -> None:
    media = world.media()
    key, filename = media.url.split("/")[-2:]
    assert (
        downloads.locate(world.context, api.LocateFile(key=key, filename=filename)).size_bytes
        == media.size_bytes
    )
    for wrong in (("x" * 22, filename), (key, "b.png"), (key, "a.jpg")):
        with pytest.raises(ApiError, match="NOT_FOUND"):
            downloads.locate(world.context, api.LocateFile(key=wrong[0], filename=wrong[1]))
    library.delete(world.context, world.caller(), api.MediaId(id=media.media_id))
    with pytest.raises(ApiError, match="NOT_FOUND"):
        downloads.locate(world.context, api.LocateFile(key=key, filename=filename))


def test_a_file_says_whether_our_ai_made_it(world: World) -> None:
    made, uploaded = world.media(generated=True), world.media()
    assert [file.generated for file in get(world, made, uploaded)] == [True, False]
    for media, generated in ((made, True), (uploaded, False)):
        key, filename = media.url.rsplit("/", 2)[1:]
        located = downloads.locate(world.context, api.LocateFile(key=key, filename=filename))
        assert located.generated is generated
