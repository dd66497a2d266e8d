"""A worker makes a thumbnail of every file. For a video it shows the first frame that is not black."""

import io
import subprocess
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import pytest
from media_kit import samples
from media_kit.world import World
from PIL import Image

from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.media import LocateFile, Media, MediaId, owner_of_copies
from media.files import downloads, library, thumbnails
from media.inspection import rendition_making
from media.inspection.ffmpeg import FfmpegEnded

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
TYPES = {"mp4": "video/mp4", "webm": "video/webm"}


def keep(world: World, data: bytes, name: str, mime_type: str) -> Media:
    return world.commit(world.put(data, filename=name, mime_type=mime_type), len(data))


def show(world: World, media: Media) -> Media:
    return library.show(world.context, world.caller(), MediaId(id=media.media_id))


def thumbnail(world: World, media: Media) -> Image.Image:
    """Fetches the thumbnail from its address."""
    address = show(world, media).thumbnail_url
    assert address
    key, filename = address.split("/")[-2:]
    found = downloads.locate(world.context, LocateFile(key=key, filename=filename))
    data = b"".join(world.context.bucket.pieces(f"{key}/{filename}"))
    assert (found.mime_type, found.size_bytes) == ("image/jpeg", len(data))
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.fixture
def film(tmp_path: Path) -> Callable[..., bytes]:
    def make(name: str, pictures: str, *options: str) -> bytes:
        command = (FFMPEG, "-v", "error", "-f", "lavfi", "-i", pictures, *options, name)
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
        return (tmp_path / name).read_bytes()

    return make


def test_a_picture_with_a_profile_larger_than_a_thumbnail_has_one_in_its_colours(world: World) -> None:
    media = keep(world, samples.with_large_profile(), "a.png", "image/png")
    thumbnails.make_due(world.context)
    assert samples.is_close(thumbnail(world, media), (100, 200, 50))


@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/png", "image/gif", "image/webp"])
def test_a_picture_has_a_thumbnail_of_its_shape(world: World, mime_type: str) -> None:
    media = keep(world, samples.picture(mime_type, (800, 200)), f"a.{samples.ENDINGS[mime_type]}", mime_type)
    assert media.thumbnail_url is None
    used = world.used()
    thumbnails.make_due(world.context)
    assert thumbnail(world, media).size == (320, 80)
    assert world.used() == used


def test_a_thumbnail_is_upright_and_never_larger_than_the_picture(world: World) -> None:
    data = samples.placed("image/jpeg", orientation=6, size=(40, 30))
    media = keep(world, data, "a.jpg", "image/jpeg")
    thumbnails.make_due(world.context)
    assert thumbnail(world, media).size == (30, 40)


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "libx264"), ("a.webm", "libvpx")])
def test_a_video_shows_its_first_frame_that_is_not_black(world: World, film, name: str, codec: str) -> None:
    fade = "color=red:s=640x360:d=2:r=10,fade=in:0:10,format=yuv420p"
    media = keep(world, film(name, fade, "-c:v", codec), name, TYPES[name[2:]])
    thumbnails.make_due(world.context)
    image = thumbnail(world, media)
    assert image.size == (320, 180)
    assert image.getpixel((160, 90))[0] > 30


def test_a_black_video_and_hdr_have_thumbnails_too(world: World, film) -> None:
    black = keep(world, film("a.mp4", "color=black:s=64x48:d=1"), "a.mp4", "video/mp4")
    tags = (
        "setparams=color_primaries=bt2020:colorspace=bt2020nc:color_trc=smpte2084:range=tv,format=yuv420p10le"
    )
    options = ("-vf", tags, "-c:v", "libx265", "-x265-params", "log-level=error", "-tag:v", "hvc1")
    hdr = keep(world, film("b.mp4", "testsrc=s=640x360:d=1", *options), "b.mp4", "video/mp4")
    while thumbnails.make_due(world.context):
        pass
    assert thumbnail(world, black).size == (64, 48)
    assert thumbnail(world, hdr).size == (320, 180)


def test_a_copy_of_a_file_at_another_server_gets_none_because_nobody_sees_it(world: World) -> None:
    world.media(world.caller(owner_of_copies("usr_a")), generated=True)
    shown = world.media(generated=True)
    world.run("UPDATE media SET thumbnail_due_at = now()")
    assert [thumbnails.make_due(world.context), thumbnails.make_due(world.context)] == [1, 0]
    assert show(world, shown).thumbnail_url


def test_an_old_file_gets_a_thumbnail_after_newer_ones(world: World) -> None:
    old, new = world.media(), world.media()
    world.run("UPDATE media SET thumbnail_due_at = now() - interval '1 day' WHERE id = :id", id=old.media_id)
    assert thumbnails.make_due(world.context) == 1
    assert (show(world, old).thumbnail_url, show(world, new).thumbnail_url is None) == (None, False)
    assert thumbnails.make_due(world.context) == 1
    assert show(world, old).thumbnail_url
    assert thumbnails.make_due(world.context) == 0


def test_a_file_that_cannot_be_opened_is_tried_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    media = world.media()
    name = "/".join(media.url.split("/")[-2:])
    world.context.bucket.put(name, io.BytesIO(b"damaged"), "image/png")
    thumbnails.make_due(world.context)
    assert show(world, media).thumbnail_url is None
    assert world.ask("SELECT thumbnail_size_bytes FROM media") == [(0,)]


def test_a_thumbnail_is_tried_again_when_the_storage_was_away(world: World) -> None:
    media = world.media()
    with pytest.MonkeyPatch.context() as patch:

        def away(*_: object) -> None:
            raise ApiError(SERVICE_UNAVAILABLE)

        patch.setattr(world.context.bucket, "download", away)
        assert thumbnails.make_due(world.context) == 0  # the loop pauses
    assert show(world, media).thumbnail_url is None
    world.run("UPDATE media SET thumbnail_due_at = now()")
    thumbnails.make_due(world.context)
    assert show(world, media).thumbnail_url


def test_a_file_whose_process_was_ended_is_tried_again_a_day_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise FfmpegEnded(SERVICE_UNAVAILABLE)

    world.media()
    monkeypatch.setattr(rendition_making, "make", ended)
    thumbnails.make_due(world.context)
    assert world.ask(
        "SELECT thumbnail_size_bytes, thumbnail_due_at > now() + interval '23 hours' FROM media"
    ) == [(None, True)]


def test_a_thumbnail_is_deleted_with_its_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    media = world.media()
    thumbnails.make_due(world.context)
    assert len(world.object_names()) == 2
    library.delete(world.context, world.caller(), MediaId(id=media.media_id))
    world.sweep()
    assert world.object_names() == set()


def test_a_thumbnail_of_a_file_deleted_meanwhile_is_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    media, put = world.media(), world.context.bucket.put

    def put_late(*arguments: object) -> int:
        library.delete(world.context, world.caller(), MediaId(id=media.media_id))
        world.sweep()
        return put(*arguments)

    monkeypatch.setattr(world.context.bucket, "put", put_late)
    thumbnails.make_due(world.context)
    assert world.object_names() == set()
