"""Of a video, only the pictures and the sound are stored, and they stay unchanged. ffmpeg opens no other file and has
limits.
"""

import os
import re
import socket
import stat
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import msgspec
import pytest
from media_kit import samples
from media_kit.world import World
from msgspec import structs

from chassis.config import ConfigError
from chassis.sandbox.pool import SandboxPool
from contracts.errors import ApiError
from contracts.media import UploadedMedia
from media.config import Settings
from media.inspection import ffmpeg

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
PICTURES, SOUND = ("-f", "lavfi", "-i", "testsrc=d=1:s=64x48:r=10"), ("-f", "lavfi", "-i", "sine=d=1")
DATE = "2024-05-06T07:08:09Z"
#: What no stored video may contain: the texts, and the date as QuickTime counts it.
PRIVATE = (b"48.8584", b"Main Street", b"2024-05-06", struct.pack(">I", 0xE25E3259))
SUBTITLES = f"1\n00:00:00,000 --> 00:00:01,000\nAt home, 5 Main Street {samples.PLACE}\n"
CHAPTERS = """;FFMETADATA1
title=At home, 5 Main Street
comment=5 Main Street
[CHAPTER]
TIMEBASE=1/1000
START=0
END=1000
title=5 Main Street
"""
H264, VP8 = (
    ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"),
    ("-c:v", "libvpx", "-c:a", "libopus"),
)
#: Name → codecs and options.
MADE: dict[str, tuple[str, ...]] = {
    "film.mp4": (*H264, "-c:s", "mov_text"),
    "fragments.mp4": (*H264, "-c:s", "mov_text", "-movflags", "frag_keyframe+empty_moov", "-g", "3"),
    "film.mov": (*H264, "-c:s", "mov_text"),
    "fragments.mov": (*H264, "-c:s", "mov_text", "-movflags", "frag_keyframe+empty_moov", "-g", "3"),
    "film.webm": (*VP8, "-c:s", "webvtt"),
    "live.webm": (*VP8, "-c:s", "webvtt", "-live", "1"),
}
TYPES = {"mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm"}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., bytes]:
    """`make(name, *options)` returns the bytes of a video with titles, dates, chapters and subtitles."""
    (tmp_path / "words.srt").write_text(SUBTITLES)
    (tmp_path / "chapters.txt").write_text(CHAPTERS)

    def run(name: str, *options: str) -> bytes:
        inputs = (*PICTURES, *SOUND, "-i", "words.srt", "-f", "ffmetadata", "-i", "chapters.txt")
        which = ("-map", "0", "-map", "1", "-map", "2", "-map_metadata", "3", "-map_chapters", "3")
        told = ("-metadata", f"creation_time={DATE}", "-metadata", f"location={samples.PLACE}")
        streams = ("-metadata:s:v", "title=5 Main Street", "-metadata:s:a", "handler_name=5 Main Street")
        command = (FFMPEG, "-v", "error", *inputs, *which, *told, *streams, *(options or MADE[name]), name)
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
        return (tmp_path / name).read_bytes()

    return run


def keep(world: World, data: bytes, name: str = "a.mp4") -> tuple[UploadedMedia, bytes]:
    """Uploads a video. Returns its record and the stored bytes."""
    media = world.commit(world.put(data, filename=name, mime_type=TYPES[name.split(".")[-1]]), len(data))
    stored = b"".join(world.context.bucket.pieces("/".join(media.url.split("/")[-2:])))
    assert len(stored) == media.size_bytes == world.used()
    return media, stored


def packets(tmp_path: Path, data: bytes) -> str:
    """Returns a hash of the video stream's packets and one of the audio stream's. Fails if ffmpeg cannot decode
    them.
    """
    path = tmp_path / "packets"
    path.write_bytes(data)
    tracks = ("-map", "0:V", "-map", "0:a?")
    subprocess.run((FFMPEG, "-v", "error", "-i", path, *tracks, "-f", "null", "-"), check=True, timeout=120)
    command = (FFMPEG, "-v", "error", "-i", path, *tracks, "-c", "copy", "-f", "streamhash", "-")
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


def frames(tmp_path: Path, data: bytes) -> str:
    """Returns a hash of all decoded frames. Fails if ffmpeg finds a mistake."""
    path = tmp_path / "decoded"
    path.write_bytes(data)
    command = (FFMPEG, "-v", "error", "-xerror", "-i", path, "-map", "0:V", "-f", "md5", "-")
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


def streams(tmp_path: Path, data: bytes) -> str:
    """Returns ffmpeg's description of the file."""
    path = tmp_path / "described"
    path.write_bytes(data)
    return subprocess.run(
        (FFMPEG, "-i", path), capture_output=True, text=True, timeout=120, check=False
    ).stderr


@pytest.mark.parametrize("name", MADE)
def test_only_pictures_and_sound_are_stored_and_they_are_the_same(
    world: World, make: Callable[..., bytes], tmp_path: Path, name: str
) -> None:
    data = make(name)
    assert [it for it in PRIVATE if it in data]
    media, stored = keep(world, data, name)
    assert not [it for it in PRIVATE if it in stored]
    assert packets(tmp_path, stored) == packets(tmp_path, data)
    assert re.findall(r"Stream #0:\d.*?: (\w+)", streams(tmp_path, stored)) == ["Video", "Audio"]
    assert (media.width, media.height, media.duration_seconds) == (64, 48, pytest.approx(1, abs=0.1))


def test_what_camcorders_write_between_the_frames_is_blanked_and_the_pictures_stay(
    world: World, make: Callable[..., bytes], tmp_path: Path
) -> None:
    note = f"17ee8c60-f84d-11d9-8cd6-0800200c9a66+MDPM2024-05-06 {samples.PLACE} 5 Main Street{'.' * 300}"
    data = make("film.mp4", *H264, "-c:s", "mov_text", "-bsf:v", f"h264_metadata=sei_user_data={note}")
    _, stored = keep(world, data)
    assert b"MDPM" in data
    assert not [it for it in (*PRIVATE, b"MDPM", b"....") if it in stored]
    assert b"x264" in stored  # another note of the same kind
    assert frames(tmp_path, stored) == frames(tmp_path, data)


@pytest.mark.parametrize("name", ["film.webm", "film.mp4", "film.mov"])
def test_the_comments_of_vorbis_are_blanked_and_the_sound_stays(
    world: World, make: Callable[..., bytes], tmp_path: Path, name: str
) -> None:
    pictures = VP8[:2] if name == "film.webm" else H264
    data = make(name, *pictures, "-c:a", "libvorbis", "-strict", "-2", "-sn")
    at, told = data.index(b"encoder="), b"title=5 Main Street"
    data = data[:at] + told + data[at + len(told) :]
    _, stored = keep(world, data, name)
    assert not [it for it in (*PRIVATE, b"title=") if it in stored]
    assert packets(tmp_path, stored) == packets(tmp_path, data)


@pytest.mark.parametrize("name", ["film.mp4", "fragments.mp4", "film.mov"])
def test_the_index_comes_first(world: World, make: Callable[..., bytes], name: str) -> None:
    _, stored = keep(world, make(name), name)
    assert 0 < stored.index(b"moov") < stored.index(b"mdat")
    assert b"moof" not in stored


def test_a_cover_is_not_stored(world: World, make: Callable[..., bytes], tmp_path: Path) -> None:
    make("film.mp4")
    (tmp_path / "cover.jpg").write_bytes(samples.picture(size=(64, 48)))
    inputs = ("-i", "film.mp4", "-i", "cover.jpg", "-map", "0:V", "-map", "0:a", "-map", "1", "-c", "copy")
    command = (FFMPEG, "-v", "error", *inputs, "-disposition:v:1", "attached_pic", "covered.mp4")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    data = (tmp_path / "covered.mp4").read_bytes()
    assert "attached pic" in streams(tmp_path, data)
    _, stored = keep(world, data)
    assert re.findall(r"Stream #0:\d.*?: (\w+)", streams(tmp_path, stored)) == ["Video", "Audio"]


def test_a_rotation_is_kept_and_the_size_is_as_displayed(world: World, tmp_path: Path) -> None:
    media, stored = keep(world, samples.film(turned=True))
    assert (media.width, media.height, media.duration_seconds) == (48, 64, 2.5)
    assert "rotation of -90.00" in streams(tmp_path, stored)


@pytest.mark.parametrize(("name", "brand", "is_kept"), [("a.mp4", b"isom", True), ("a.mov", b"qt  ", False)])
def test_the_configuration_of_dolby_vision_is_kept_in_mp4_alone(
    world: World, tmp_path: Path, name: str, brand: bytes, is_kept: bool
) -> None:
    data = samples.film(brand=brand, in_entry=samples.DOLBY_VISION)
    assert "DOVI configuration record: version: 1.0, profile: 9" in streams(tmp_path, data)
    _, stored = keep(world, data, name)
    assert (samples.DOLBY_VISION in stored) is is_kept
    assert packets(tmp_path, stored) == packets(tmp_path, data)


@pytest.mark.parametrize(("dropped", "frame_rate"), [("0", 30.0), ("eq(mod(n,7),3)", None)])
def test_a_frame_rate_is_stored_if_it_is_constant(
    world: World, tmp_path: Path, dropped: str, frame_rate: float | None
) -> None:
    source = ("-f", "lavfi", "-i", "testsrc=d=2:s=64x48:r=30", "-vf", f"select='not({dropped})'")
    command = (FFMPEG, "-v", "error", *source, "-fps_mode", "vfr", *H264, "a.mp4")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    assert keep(world, (tmp_path / "a.mp4").read_bytes())[0].frame_rate == frame_rate


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (samples.film(camera_track=True), "a.mp4"),
        (samples.film(camera_track=True, brand=b"qt  "), "a.mov"),
        (samples.fragments(), "a.mp4"),
        (samples.fragments(), "a.mov"),
        (samples.recording(tags=True), "a.webm"),
        (samples.recording(tags=True, live=True, timed=False), "a.webm"),
    ],
)
def test_tracks_of_locations_and_texts_go_with_their_samples(
    world: World, tmp_path: Path, data: bytes, name: str
) -> None:
    assert samples.tells_place(data)
    media, stored = keep(world, data, name)
    assert not samples.tells_place(stored)
    assert packets(tmp_path, stored) == packets(tmp_path, data)
    assert (media.width, media.height, media.duration_seconds) == (64, 48, 2.5)


def test_a_quicktime_file_named_mp4_is_taken(world: World, tmp_path: Path) -> None:
    data = samples.film(brand=b"qt  ")
    assert packets(tmp_path, keep(world, data, "a.mp4")[1]) == packets(tmp_path, data)


def test_sound_that_the_container_cannot_have_is_encoded_anew(world: World, tmp_path: Path) -> None:
    """The example is AMR, which old phones recorded."""
    speech = ("-c:a", "libopencore_amrnb", "-ar", "8000", "-ac", "1")
    command = (FFMPEG, "-v", "error", *PICTURES, *SOUND, *H264, *speech, "-f", "3gp", "a.mp4")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    media, stored = keep(world, (tmp_path / "a.mp4").read_bytes())
    assert "Audio: aac (LC)" in streams(tmp_path, stored)
    assert media.duration_seconds == pytest.approx(1, abs=0.1)


def test_pictures_that_the_container_cannot_have_are_refused_with_the_reason(
    world: World, tmp_path: Path
) -> None:
    command = (FFMPEG, "-v", "error", *PICTURES, *H264, "-f", "matroska", "a.webm")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    with pytest.raises(ApiError, match="a format that WEBM cannot have"):
        keep(world, (tmp_path / "a.webm").read_bytes(), "a.webm")


@pytest.mark.parametrize("name", MADE)
def test_an_incomplete_video_is_refused(world: World, make: Callable[..., bytes], name: str) -> None:
    data = make(name)
    for share in (0.2, 0.5, 0.8):
        cut = data[: int(len(data) * share)]
        with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
            keep(world, cut, name)
    assert world.object_names() == set()


def test_a_video_without_frames_or_of_sound_alone_is_refused(world: World, tmp_path: Path) -> None:
    options = ("-c:a", "aac", "-movflags", "+faststart")
    subprocess.run((FFMPEG, "-v", "error", *SOUND, *options, tmp_path / "a.mp4"), check=True, timeout=120)
    empty = samples.fragments()[: samples.fragments().index(b"moof") - 4]
    for data in ((tmp_path / "a.mp4").read_bytes(), empty):
        with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
            keep(world, data)


def test_a_video_whose_frames_are_elsewhere_opens_no_address_and_no_file(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "frames").write_bytes(samples.FRAME)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        for address in (
            f"http://127.0.0.1:{listener.getsockname()[1]}/a",
            f"file://{tmp_path}/frames",
            f"{tmp_path}/frames",
        ):
            reference = samples.box(b"url ", bytes(4), address.encode(), b"\0")
            references = samples.box(b"dinf", samples.box(b"dref", bytes(4), struct.pack(">I", 1), reference))
            for data in (
                samples.film(references=references, brand=b"qt  "),
                samples.film(
                    in_movie=samples.box(
                        b"rmra", samples.box(b"rmda", samples.box(b"rdrf", address.encode()))
                    )
                ),
            ):
                try:
                    _, stored = keep(world, data, "a.mov")
                except ApiError as error:
                    assert error.code == "INVALID_FILE_CONTENT"
                else:
                    assert str(tmp_path).encode() not in stored
                    assert b"127.0.0.1" not in stored
                    world.run("DELETE FROM media")
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_video_that_refers_to_the_same_bytes_again_and_again_is_refused(world: World) -> None:
    """The copy of such a video would have two gigabytes."""
    with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
        keep(world, samples.film(filler_bytes=100_000, shown=20_000))


def test_a_commit_continues_after_an_unanswered_replacement(world: World) -> None:
    data = samples.film(camera_track=True)
    ticket = world.put(data, filename="a.mp4", mime_type="video/mp4")
    with world.unanswered(), pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        world.commit(ticket, len(data))
    media = world.commit(ticket, len(data))
    assert world.used() == media.size_bytes
    (name,) = world.object_names()
    stored = b"".join(world.context.bucket.pieces(name))
    assert len(stored) == media.size_bytes
    assert not samples.tells_place(stored)


@pytest.fixture
def instead_of_ffmpeg(world: World, tmp_path: Path) -> Callable[[str], None]:
    """`instead_of_ffmpeg(script)` makes the service run this shell script as ffmpeg."""

    def use(script: str) -> None:
        path = tmp_path / "ffmpeg"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        world.context.settings = msgspec.structs.replace(world.context.settings, ffmpeg=str(path))

    return use


@pytest.mark.parametrize(
    "script", ["echo 'Error: No space left on device' >&2; exit 1", "while :; do :; done", ""]
)
def test_a_video_is_not_refused_for_good_where_ffmpeg_could_not_run_to_its_end(
    world: World, instead_of_ffmpeg: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """ffmpeg finds no space on the disk, uses up its time, or is missing."""
    data, there = samples.film(), world.context.settings
    ticket = world.put(data, filename="a.mp4", mime_type="video/mp4")
    instead_of_ffmpeg(script)
    if not script:
        os.unlink(world.context.settings.ffmpeg)
    with monkeypatch.context() as patch:
        patch.setattr(ffmpeg, "LIMITS", structs.replace(ffmpeg.LIMITS, seconds=1))
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            world.commit(ticket, len(data))
    assert world.used() == len(data)
    world.context.settings = there
    assert world.commit(ticket, len(data)).duration_seconds == 2.5


@pytest.mark.parametrize("script", ["exit 1", "exit 0", "echo no video"])
def test_a_video_that_ffmpeg_cannot_copy_is_refused(
    world: World, instead_of_ffmpeg: Callable[[str], None], script: str
) -> None:
    instead_of_ffmpeg(script)
    with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
        keep(world, samples.film())
    assert world.object_names() == set()
    assert world.used() == 0


def test_ffmpeg_knows_no_secret_and_has_only_its_files(
    world: World, instead_of_ffmpeg: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3_SECRET_KEY", "secret")
    world.context.sandbox_pool.close()
    world.context.sandbox_pool = SandboxPool("media.decoder.functions")
    instead_of_ffmpeg('export -p >&2; true <&4 && echo "a fifth file" >&2; exit 7')
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("media.inspection.ffmpeg.log.info", lambda _, **fields: said.append(fields["problem"]))
        with pytest.raises(ApiError, match="INVALID_FILE_CONTENT"):
            keep(world, samples.film())
    assert said
    assert not re.search("S3_|a fifth file", said[0])


def test_no_temporary_file_is_left_that_has_a_name(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    seen: list[str] = []
    run = world.context.sandbox_pool.run_program

    def look(*arguments: Any, **options: Any) -> int:
        seen.extend(os.listdir(folder))
        return run(*arguments, **options)

    monkeypatch.setattr(world.context.sandbox_pool, "run_program", look)
    keep(world, samples.film())
    assert seen == os.listdir(folder) == []


def test_without_ffmpeg_the_service_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("S3_URL", "S3_ACCESS_KEY", "S3_SECRET_KEY"):
        monkeypatch.setenv(name, "x")
    assert Path(Settings.from_env().ffmpeg).is_absolute()
    monkeypatch.setenv("FFMPEG", "/no/such/program")
    with pytest.raises(ConfigError, match="FFMPEG"):
        Settings.from_env()
