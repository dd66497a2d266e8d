"""Videos: headers read by ranges, what is overwritten, what is refused."""

import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from media_kit import samples

from media.decoder.formats import Patch, Refused, mp4, webm
from media.decoder.formats.ranges import RangeReader
from media.inspection.patched_stream import patched

FILMS = ("video/mp4", "video/quicktime", "video/webm")


def stored(data: bytes, video, piece=7):
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    return b"".join(patched(pieces, video.patches))


@pytest.mark.parametrize("mime_type", FILMS)
def test_a_video_has_its_size_and_duration(mime_type: str) -> None:
    video = samples.parse_video(samples.good(mime_type), mime_type)
    assert (video.width, video.height, video.duration_seconds) == (64, 48, 2.5)
    assert video.patches == []


def test_moov_may_come_first() -> None:
    assert samples.parse_video(samples.film(moov_first=True)).duration_seconds == 2.5


@pytest.mark.parametrize("said", [struct.pack(">II", 0, 7_250), struct.pack(">IQ", 1 << 24, 7_250)])
def test_a_fragmented_video_may_contain_its_total_duration(said: bytes) -> None:
    extent = samples.box(b"mvex", samples.box(b"mehd", said), samples.box(b"trex", bytes(24)))
    assert samples.parse_video(samples.film(lasts=0, in_movie=extent)).duration_seconds == 7.25
    assert samples.parse_video(samples.film(lasts=0)).duration_seconds is None


def test_a_rotated_video_has_its_displayed_size() -> None:
    video = samples.parse_video(samples.film(turned=True))
    assert (video.width, video.height) == (48, 64)


def test_metadata_is_overwritten_wherever_it_is() -> None:
    for name, box in samples.PLACE_BOXES.items():
        for data in (
            samples.film(in_movie=box),
            samples.film(on_top=box),
            samples.film(on_top=box, moov_first=True),
        ):
            assert samples.tells_place(data), name
            after = stored(data, samples.parse_video(data))
            assert not samples.tells_place(after), name
            assert len(after) == len(data)
            again = samples.parse_video(after)
            assert (again.width, again.height, again.patches) == (64, 48, []), name


def test_unknown_boxes_are_emptied() -> None:
    unknown = samples.box(b"gps ", samples.PLACE.encode())
    for data in (samples.film(in_movie=unknown), samples.film(on_top=unknown)):
        after = stored(data, samples.parse_video(data))
        assert not samples.tells_place(after)
        assert b"gps " not in after


def test_a_track_of_locations_is_removed_with_its_samples() -> None:
    data = samples.film(camera_track=True)
    after = stored(data, samples.parse_video(data))
    assert samples.tells_place(data)
    assert not samples.tells_place(after)
    assert bytes(range(256)) * 8 in after


@pytest.mark.parametrize("live", [False, True])
def test_tags_of_a_recording_become_void(live: bool) -> None:
    data = samples.recording(tags=True, live=live)
    after = stored(data, samples.parse_video(data, "video/webm"))
    assert samples.tells_place(data)
    assert not samples.tells_place(after)
    assert samples.parse_video(after, "video/webm").width == 64


@pytest.mark.parametrize("mime_type", FILMS)
def test_an_incomplete_video_is_refused_wherever_it_ends(mime_type: str) -> None:
    data = samples.good(mime_type)
    for length in range(1, len(data), 13):
        with pytest.raises(Refused):
            samples.parse_video(data[:length], mime_type)


@pytest.mark.parametrize("mime_type", FILMS)
def test_data_after_a_video_is_refused(mime_type: str) -> None:
    for payload in (b"<html><script>alert(1)</script></html>", b"PK\x03\x04" + bytes(60), b"%PDF-1.7 " * 4):
        with pytest.raises(Refused):
            samples.parse_video(samples.good(mime_type) + payload, mime_type)


def test_a_video_with_external_data_or_without_a_video_track_is_refused() -> None:
    data = samples.film()
    for hostile in (
        data.replace(b"url \0\0\0\1", b"url \0\0\0\0"),
        data.replace(b"vide", b"soun"),
        samples.film(in_movie=samples.box(b"rmra")),
        samples.film(brand=b"heic"),
        samples.film(brand=b"M4A "),
        samples.film(on_top=samples.box(b"\0\1\2\3")),
        samples.film(mdat=b"").replace(b"mdat", b"free"),
    ):
        with pytest.raises(Refused):
            samples.parse_video(hostile)


def test_a_recording_with_attachments_or_of_another_doctype_is_refused() -> None:
    for hostile in (
        samples.recording(extra=samples.element(0x1941A469, b"x")),
        samples.recording(doctype=b"matroska"),
    ):
        with pytest.raises(Refused):
            samples.parse_video(hostile, "video/webm")


@pytest.mark.parametrize("kind", [0xB0, 0xBA, 0x54B0, 0x54BA])
def test_a_recording_of_impossible_dimensions_is_refused(kind: Any) -> None:
    for size in (65_536, 2**31, 2**32 - 1, 2**64 - 1):
        sizes = samples.element(kind, size.to_bytes(8, "big"))
        with pytest.raises(Refused):
            samples.parse_video(samples.recording(sizes=sizes), "video/webm")
    sizes = samples.element(kind, (65_535).to_bytes(2, "big"))
    video = samples.parse_video(samples.recording(sizes=sizes), "video/webm")
    assert 65_535 in (video.width, video.height)


def test_a_quicktime_file_is_not_an_mp4() -> None:
    with pytest.raises(Refused):
        samples.parse_video(samples.good("video/quicktime"), "video/mp4")


def test_only_a_little_of_a_large_video_is_read() -> None:
    data = samples.film(mdat=bytes(20 * 2**20))
    read = []

    def fetch(offset, length):
        read.append(length)
        return data[offset : offset + length]

    assert RangeReader(fetch, len(data)).tail(10) == data[-10:]
    mp4.parse(RangeReader(fetch, len(data)), "video/mp4")
    assert sum(read) < 300_000


def test_patches_apply_however_the_chunks_are_cut() -> None:
    data, patches = bytes(range(100)), [Patch(3, 4, b"free"), Patch(7, 20), Patch(10, 5, b"x"), Patch(90, 50)]
    wanted = data[:3] + b"free" + bytes(20) + data[27:90] + bytes(10)
    for size in (1, 2, 3, 7, 50, 100):
        pieces = [data[at : at + size] for at in range(0, 100, size)]
        assert b"".join(patched(pieces, patches)) == wanted


@pytest.mark.parametrize("name", ["film.mp4", "film.mov", "film.webm", "fragments.mp4", "fast.mp4"])
def test_ffmpegs_files_are_read_and_play_without_their_location(tmp_path: Path, name: str) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    options = {
        "fragments.mp4": ["-movflags", "frag_keyframe+empty_moov"],
        "fast.mp4": ["-movflags", "faststart"],
    }
    path, after = tmp_path / name, tmp_path / f"stored-{name}"
    sources = ["-f", "lavfi", "-i", "testsrc=d=1:s=320x240", "-f", "lavfi", "-i", "sine=d=1"]
    told = ["-metadata", f"location={samples.PLACE}", *options.get(name, []), "-pix_fmt", "yuv420p"]
    subprocess.run([ffmpeg, "-v", "error", *sources, *told, str(path)], check=True)
    mime_type = {"mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm"}[name[-4:].strip(".")]
    data = path.read_bytes()
    video = samples.parse_video(data, mime_type)
    assert (video.width, video.height) == (320, 240)
    assert name == "fragments.mp4" or video.duration_seconds == pytest.approx(1, abs=0.1)
    after.write_bytes(stored(data, video, 1000))
    assert not samples.tells_place(after.read_bytes())
    played = subprocess.run(
        [ffmpeg, "-v", "error", "-i", str(after), "-f", "null", "-"], capture_output=True, check=True
    )
    assert played.stderr == b""


def fetched(data: bytes, mime_type: str):
    """Returns the lengths of the ranges that an inspection reads."""
    lengths = []

    def fetch(offset, length):
        lengths.append(length)
        return data[offset : offset + length]

    file = RangeReader(fetch, len(data))
    file.tail(70_000)
    (webm.parse(file) if mime_type == "video/webm" else mp4.parse(file, mime_type))
    assert sum(map(len, file._blocks.values())) <= 4 * 2**20
    return lengths


@pytest.mark.parametrize("frame_bytes", [4_000, 20_000, 120_000])
def test_a_long_recording_is_read_in_few_large_ranges(frame_bytes: int) -> None:
    """Its clusters have no size, so every frame's header is read."""
    frames = [samples.element(0xA3, bytes(frame_bytes))] * (50 * 10**6 // frame_bytes)
    clusters = samples.element(0x1F43B675, samples.element(0xE7, b"\0"), *frames, unknown=True)
    lengths = fetched(samples.recording(live=True, extra=clusters), "video/webm")
    assert len(lengths) <= 50
    assert max(lengths) <= 2 * 2**20


def test_skippable_data_is_not_read() -> None:
    cluster = samples.element(
        0x1F43B675, samples.element(0xE7, b"\0"), samples.element(0xA3, bytes(5 * 10**6))
    )
    assert sum(fetched(samples.recording(extra=cluster * 10), "video/webm")) < 2**20
    assert sum(fetched(samples.film(mdat=bytes(50 * 10**6)), "video/mp4")) < 2**20
