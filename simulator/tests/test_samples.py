"""Tests sample media and broken files: local-stack.md, "Sample media and addresses"."""

import re
import subprocess
from io import BytesIO

import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import ExifTags, Image

from simulator import inspection
from simulator.config import parse_host_map


@pytest.mark.parametrize(
    ("ending", "kind", "mime"),
    [
        ("jpg", "JPEG", "image/jpeg"),
        ("png", "PNG", "image/png"),
        ("webp", "WEBP", "image/webp"),
        ("gif", "GIF", "image/gif"),
    ],
)
def test_photos_are_what_their_name_says(client, ending, kind, mime):
    answer = client.get(f"/media/photo-640x480.{ending}", headers={"Host": "media.posthaste.test"})
    with Image.open(BytesIO(answer.data)) as picture:
        picture.load()
        assert (picture.format, picture.size, answer.mimetype) == (kind, (640, 480), mime)


def test_a_photo_can_say_where_it_was_taken(client):
    for name, located in (("photo-640x480-gps.jpg", True), ("photo-640x480.jpg", False)):
        with Image.open(BytesIO(client.get(f"/media/{name}").data)) as picture:
            assert bool(picture.getexif().get_ifd(ExifTags.IFD.GPSInfo)) is located


def test_a_webm_video_is_one(client):
    answer = client.get("/media/video-2s-320x240.webm")
    assert (answer.status_code, answer.mimetype) == (200, "video/webm")
    assert answer.data.startswith(b"\x1a\x45\xdf\xa3")
    assert b"webm" in answer.data[:64]


@pytest.mark.parametrize(
    "name",
    [
        "photo-0x10.jpg",
        "photo-9999x10.jpg",
        "photo-10x10.svg",
        "video-0s.mp4",
        "video-1201s.mp4",
        "video-31s.webm",
        "404.jpg",
    ],
)
def test_other_names_are_not_found(client, name):
    assert client.get(f"/media/{name}").status_code == 404


def test_a_part_of_a_file_can_be_asked_for(client):
    whole = client.get("/media/video-5s.mp4").data
    part = client.get("/media/video-5s.mp4", headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.data) == (206, whole[100:200])
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole)}"


def test_head_tells_the_size_without_the_file(client):
    answer = client.head("/media/photo-1080x1080.jpg")
    assert answer.data == b""
    assert answer.content_length == len(client.get("/media/photo-1080x1080.jpg").data)


def test_a_padded_photo_has_the_asked_for_size_and_still_opens(client):
    data = client.get("/media/photo-400x400-9mb.jpg").data
    assert len(data) == 9 << 20
    assert inspection.photo(data).width == 400


@pytest.mark.parametrize(
    ("name", "seconds", "moov_first"),
    [
        ("video-5s.mp4", 5.0, True),
        ("video-12s-360x640.mov", 12.0, True),
        ("video-3s-moov-last.mp4", 3.0, False),
    ],
)
def test_videos_have_their_length_and_order_of_boxes(client, name, seconds, moov_first):
    film = inspection.video(client.get(f"/media/{name}").data)
    assert (film.seconds, film.moov_first) == (seconds, moov_first)


@pytest.mark.parametrize(("name", "frames"), [("video-12s-64x64.mp4", 360), ("video-1s-64x64.webm", 10)])
def test_a_player_shows_every_frame_of_a_video(client, tmp_path, name, frames):
    (tmp_path / name).write_bytes(client.get(f"/media/{name}").data)
    command = [get_ffmpeg_exe(), "-v", "error", "-stats", "-i", tmp_path / name, "-f", "null", "-"]
    decoded = subprocess.run(command, capture_output=True, text=True, check=True)
    [progress] = decoded.stderr.strip().splitlines()  # no warning beside it
    assert re.findall(r"frame= *(\d+)", progress)[-1:] == [str(frames)]


@pytest.mark.parametrize(
    "data", [b"", b"GIF89a", b"\0\0\0\x08ftyp", b"\0\0\0\x08ftyp\0\0\0\x09mdat", b"\0\0\0\0ftyp" * 3]
)
def test_broken_files_are_no_media(data):
    with pytest.raises(inspection.NotMedia):
        inspection.video(data)
    with pytest.raises(inspection.NotMedia):
        inspection.photo(data)


def test_a_cut_off_video_is_no_media(client):
    data = client.get("/media/video-5s.mp4").data
    with pytest.raises(inspection.NotMedia):
        inspection.video(data[:-1])


def test_a_redirect_leads_where_it_is_told(client):
    answer = client.get("/media/redirect", query_string={"to": "http://10.0.0.1/a.jpg"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "http://10.0.0.1/a.jpg")


@pytest.mark.parametrize(
    "text",
    ["media.test=127.0.0.1:9, b.test=10.0.0.1:80", '{"Media.test": "127.0.0.1:9", "b.test": "10.0.0.1:80"}'],
)
def test_the_host_map_is_read_in_both_forms(text):
    assert parse_host_map(text) == {"media.test": "127.0.0.1:9", "b.test": "10.0.0.1:80"}
