"""Films: headers read by ranges, what is written over, what is refused."""

import struct
import subprocess

import pytest

from media.decoder.formats import Patch, Refused, mp4, webm
from media.decoder.formats.ranges import Ranges
from media.inspection.patched_stream import patched

FILMS = ("video/mp4", "video/quicktime", "video/webm")


def stored(data, video, piece=7):
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    return b"".join(patched(pieces, video.patches))


@pytest.mark.parametrize("mime_type", FILMS)
def test_a_film_tells_its_size_and_length(make, mime_type):
    video = make.look_at_film(make.good(mime_type), mime_type)
    assert (video.width, video.height, video.duration_seconds) == (64, 48, 2.5)
    assert video.patches == []


def test_moov_may_stand_first(make):
    assert make.look_at_film(make.film(moov_first=True)).duration_seconds == 2.5


@pytest.mark.parametrize("said", [struct.pack(">II", 0, 7_250), struct.pack(">IQ", 1 << 24, 7_250)])
def test_a_film_in_fragments_may_say_how_long_they_are_together(make, said):
    extent = make.box(b"mvex", make.box(b"mehd", said), make.box(b"trex", bytes(24)))
    assert make.look_at_film(make.film(lasts=0, in_movie=extent)).duration_seconds == 7.25
    assert make.look_at_film(make.film(lasts=0)).duration_seconds is None


def test_a_turned_film_is_as_wide_as_it_is_shown(make):
    video = make.look_at_film(make.film(turned=True))
    assert (video.width, video.height) == (48, 64)


def test_metadata_is_written_over_wherever_it_stands(make):
    for name, box in make.PLACE_BOXES.items():
        for data in (make.film(in_movie=box), make.film(on_top=box), make.film(on_top=box, moov_first=True)):
            assert make.tells_place(data), name
            after = stored(data, make.look_at_film(data))
            assert not make.tells_place(after), name
            assert len(after) == len(data)
            again = make.look_at_film(after)
            assert (again.width, again.height, again.patches) == (64, 48, []), name


def test_boxes_nobody_knows_are_emptied(make):
    unknown = make.box(b"gps ", make.PLACE.encode())
    for data in (make.film(in_movie=unknown), make.film(on_top=unknown)):
        after = stored(data, make.look_at_film(data))
        assert not make.tells_place(after)
        assert b"gps " not in after


def test_a_track_of_places_goes_with_its_samples(make):
    data = make.film(camera_track=True)
    after = stored(data, make.look_at_film(data))
    assert make.tells_place(data)
    assert not make.tells_place(after)
    assert bytes(range(256)) * 8 in after


@pytest.mark.parametrize("live", [False, True])
def test_tags_of_a_recording_become_void(make, live):
    data = make.recording(tags=True, live=live)
    after = stored(data, make.look_at_film(data, "video/webm"))
    assert make.tells_place(data)
    assert not make.tells_place(after)
    assert make.look_at_film(after, "video/webm").width == 64


@pytest.mark.parametrize("mime_type", FILMS)
def test_a_film_cut_off_anywhere_is_refused(make, mime_type):
    data = make.good(mime_type)
    for length in range(1, len(data), 13):
        with pytest.raises(Refused):
            make.look_at_film(data[:length], mime_type)


@pytest.mark.parametrize("mime_type", FILMS)
def test_what_follows_a_film_is_refused(make, mime_type):
    for payload in (b"<html><script>alert(1)</script></html>", b"PK\x03\x04" + bytes(60), b"%PDF-1.7 " * 4):
        with pytest.raises(Refused):
            make.look_at_film(make.good(mime_type) + payload, mime_type)


def test_a_film_elsewhere_or_without_pictures_is_refused(make):
    data = make.film()
    for hostile in (
        data.replace(b"url \0\0\0\1", b"url \0\0\0\0"),
        data.replace(b"vide", b"soun"),
        make.film(in_movie=make.box(b"rmra")),
        make.film(brand=b"heic"),
        make.film(brand=b"M4A "),
        make.film(on_top=make.box(b"\0\1\2\3")),
        make.film(mdat=b"").replace(b"mdat", b"free"),
    ):
        with pytest.raises(Refused):
            make.look_at_film(hostile)


def test_a_recording_with_attachments_or_of_another_doctype_is_refused(make):
    for hostile in (
        make.recording(extra=make.element(0x1941A469, b"x")),
        make.recording(doctype=b"matroska"),
    ):
        with pytest.raises(Refused):
            make.look_at_film(hostile, "video/webm")


@pytest.mark.parametrize("kind", [0xB0, 0xBA, 0x54B0, 0x54BA])
def test_a_recording_larger_than_any_picture_is_refused(make, kind):
    for size in (65_536, 2**31, 2**32 - 1, 2**64 - 1):
        sizes = make.element(kind, size.to_bytes(8, "big"))
        with pytest.raises(Refused):
            make.look_at_film(make.recording(sizes=sizes), "video/webm")
    sizes = make.element(kind, (65_535).to_bytes(2, "big"))
    video = make.look_at_film(make.recording(sizes=sizes), "video/webm")
    assert 65_535 in (video.width, video.height)


def test_a_quicktime_film_is_no_mp4(make):
    with pytest.raises(Refused):
        make.look_at_film(make.good("video/quicktime"), "video/mp4")


def test_only_a_little_of_a_large_film_is_read(make):
    data = make.film(mdat=bytes(20 * 2**20))
    read = []

    def fetch(offset, length):
        read.append(length)
        return data[offset : offset + length]

    assert Ranges(fetch, len(data)).tail(10) == data[-10:]
    mp4.look(Ranges(fetch, len(data)), "video/mp4")
    assert sum(read) < 300_000


def test_patches_fall_into_place_however_the_pieces_are_cut():
    data, patches = bytes(range(100)), [Patch(3, 4, b"free"), Patch(7, 20), Patch(10, 5, b"x"), Patch(90, 50)]
    wanted = data[:3] + b"free" + bytes(20) + data[27:90] + bytes(10)
    for size in (1, 2, 3, 7, 50, 100):
        pieces = [data[at : at + size] for at in range(0, 100, size)]
        assert b"".join(patched(pieces, patches)) == wanted


@pytest.mark.parametrize("name", ["film.mp4", "film.mov", "film.webm", "fragments.mp4", "fast.mp4"])
def test_what_ffmpeg_writes_is_read_and_plays_without_its_place(make, tmp_path, name):
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    options = {
        "fragments.mp4": ["-movflags", "frag_keyframe+empty_moov"],
        "fast.mp4": ["-movflags", "faststart"],
    }
    path, after = tmp_path / name, tmp_path / f"stored-{name}"
    sources = ["-f", "lavfi", "-i", "testsrc=d=1:s=320x240", "-f", "lavfi", "-i", "sine=d=1"]
    told = ["-metadata", f"location={make.PLACE}", *options.get(name, []), "-pix_fmt", "yuv420p"]
    subprocess.run([ffmpeg, "-v", "error", *sources, *told, str(path)], check=True)
    mime_type = {"mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm"}[name[-4:].strip(".")]
    data = path.read_bytes()
    video = make.look_at_film(data, mime_type)
    assert (video.width, video.height) == (320, 240)
    assert name == "fragments.mp4" or video.duration_seconds == pytest.approx(1, abs=0.1)
    after.write_bytes(stored(data, video, 1000))
    assert not make.tells_place(after.read_bytes())
    played = subprocess.run(
        [ffmpeg, "-v", "error", "-i", str(after), "-f", "null", "-"], capture_output=True, check=True
    )
    assert played.stderr == b""


def fetched(data, mime_type):
    """The lengths of the ranges that a look asks for."""
    lengths = []

    def fetch(offset, length):
        lengths.append(length)
        return data[offset : offset + length]

    file = Ranges(fetch, len(data))
    file.tail(70_000)
    (webm.look(file) if mime_type == "video/webm" else mp4.look(file, mime_type))
    assert sum(map(len, file._blocks.values())) <= 4 * 2**20
    return lengths


@pytest.mark.parametrize("frame_bytes", [4_000, 20_000, 120_000])
def test_a_long_recording_is_read_in_few_large_ranges(make, frame_bytes):
    """Its clusters tell no size: every frame's head is looked at."""
    frames = [make.element(0xA3, bytes(frame_bytes))] * (50 * 10**6 // frame_bytes)
    clusters = make.element(0x1F43B675, make.element(0xE7, b"\0"), *frames, unknown=True)
    lengths = fetched(make.recording(live=True, extra=clusters), "video/webm")
    assert len(lengths) <= 50
    assert max(lengths) <= 2 * 2**20


def test_what_can_be_stepped_over_is_not_read(make):
    cluster = make.element(0x1F43B675, make.element(0xE7, b"\0"), make.element(0xA3, bytes(5 * 10**6)))
    assert sum(fetched(make.recording(extra=cluster * 10), "video/webm")) < 2**20
    assert sum(fetched(make.film(mdat=bytes(50 * 10**6)), "video/mp4")) < 2**20
