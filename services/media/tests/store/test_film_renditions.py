"""Renditions of real videos get the container, codec, size, frame rate and bytes that platforms take. Length and shape
stay.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
import pytest
from media_kit.world import World

from contracts.renditions import FileFacts, Need
from media.decoder.formats import Refused
from media.inspection import rendition_making
from media.inspection.film import described as read
from media.inspection.uploaded_files import fetched

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
MIB = 2**20
TYPES = {"mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm"}
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p")
HEVC = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error", "-tag:v", "hvc1")
VP9 = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus")
HLG = (
    "setparams=color_primaries=bt2020:colorspace=bt2020nc:color_trc=arib-std-b67:range=tv,format=yuv420p10le"
)


@pytest.fixture
def film(tmp_path: Path) -> Callable[..., Path]:
    """`film(name, *options)` returns the path of a video of two seconds with sound."""

    def make(name: str, *options: str, side: str = "160x90", rate: int = 30) -> Path:
        pictures = ("-f", "lavfi", "-i", f"testsrc2=s={side}:r={rate}:d=2", "-f", "lavfi", "-i", "sine=d=2")
        command = (FFMPEG, "-v", "error", "-y", *pictures, *options, name)
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
        return tmp_path / name

    return make


@pytest.fixture
def fit(world: World, tmp_path: Path) -> Callable[..., tuple[FileFacts, str, list[float]]]:
    """`fit(path, **need)` makes a rendition. Returns its properties, ffmpeg's description of it, and the reported
    progress.
    """

    def run(path: Path, **fields: object) -> tuple[FileFacts, str, list[float]]:
        reports: list[float] = []
        need = Need(**{"mime_type": "video/mp4", "max_bytes": 250 * MIB} | fields)  # type: ignore[arg-type]
        mime_type = TYPES[path.suffix[1:]]
        with path.open("rb") as source:
            world.context.bucket.put("a/film", source, mime_type)
        with fetched(world.context, "a/film") as (_, target, files):
            made = rendition_making.make_film(world.context, mime_type, need, files, reports.append)
            (tmp_path / "made.mp4").write_bytes(os.pread(target.fileno(), 10**9, 0))
        return made, described(tmp_path / "made.mp4"), reports

    return run


def described(path: Path) -> str:
    """Returns ffmpeg's description of the file. Fails if ffmpeg cannot decode all of it."""
    subprocess.run((FFMPEG, "-v", "error", "-xerror", "-i", path, "-f", "null", "-"), check=True, timeout=120)
    command = (FFMPEG, "-hide_banner", "-i", path)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stderr


def pictures(path: Path) -> str:
    """Returns a hash of the video stream's packets."""
    command = (
        FFMPEG,
        "-v",
        "error",
        "-i",
        path,
        "-map",
        "0:v",
        "-c",
        "copy",
        "-bsf:v",
        "h264_mp4toannexb",
        "-f",
        "md5",
        "-",
    )
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.parametrize(
    ("name", "options"), [("a.mov", (*HEVC, "-pix_fmt", "yuv420p10le")), ("a.webm", VP9)]
)
def test_other_codecs_become_h264_and_aac_in_an_mp4_whose_index_comes_first(
    film: Callable[..., Path], fit: Callable[..., tuple], tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    made, description, reports = fit(film(name, *options))
    assert re.search(r"Video: h264 \(High\).*yuv420p\(", description)
    assert "Audio: aac (LC)" in description
    assert (made.width, made.height, made.frame_rate) == (160, 90, 30)
    assert made.duration_seconds == pytest.approx(2, abs=0.1)
    data = (tmp_path / "made.mp4").read_bytes()
    assert 0 < data.index(b"moov") < data.index(b"mdat")
    assert reports == sorted(reports)
    assert 0.9 < reports[-1] <= 1


def test_h264_in_a_mov_is_copied_with_its_rotation(
    film: Callable[..., Path], fit: Callable[..., tuple], tmp_path: Path
) -> None:
    film("flat.mov", *H264)
    command = (FFMPEG, "-v", "error", "-display_rotation", "90", "-i", "flat.mov", "-c", "copy", "turned.mov")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    made, _, _ = fit(tmp_path / "turned.mov")
    assert (made.width, made.height) == (90, 160)
    assert pictures(tmp_path / "made.mp4") == pictures(tmp_path / "turned.mov")


def test_a_rotation_becomes_upright_pictures(
    film: Callable[..., Path], fit: Callable[..., tuple], tmp_path: Path
) -> None:
    film("flat.mov", *HEVC)
    command = (FFMPEG, "-v", "error", "-display_rotation", "90", "-i", "flat.mov", "-c", "copy", "turned.mov")
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    made, description, _ = fit(tmp_path / "turned.mov")
    assert (made.width, made.height) == (90, 160)
    assert "90x160" in description
    assert "rotation of" not in description


def test_a_cameras_uncompressed_sound_becomes_aac_and_its_pictures_are_copied(
    film: Callable[..., Path], fit: Callable[..., tuple], tmp_path: Path
) -> None:
    recorded = film("a.mov", *H264, "-c:a", "pcm_s16le")
    assert read(described(recorded)).audio_codec == "pcm_s16le"
    _, description, _ = fit(recorded, video_codecs=("h264",))
    assert "Audio: aac (LC)" in description
    assert pictures(tmp_path / "made.mp4") == pictures(recorded)


def test_a_cameras_ten_bit_h264_becomes_eight_bit(
    film: Callable[..., Path], fit: Callable[..., tuple]
) -> None:
    recorded = film("a.mp4", *H264[:4], "-pix_fmt", "yuv422p10le")
    assert read(described(recorded)).video_codec == "h264 yuv422p10le"
    _, description, _ = fit(recorded)
    assert re.search(r"Video: h264 \(High\).*yuv420p\(", description)


@pytest.mark.parametrize(("rate", "wanted"), [(90, 60.0), (10, 30.0)])
def test_frames_are_dropped_or_repeated_and_the_length_stays(
    film: Callable[..., Path], fit: Callable[..., tuple], rate: int, wanted: float
) -> None:
    made, _, _ = fit(film("a.mp4", *H264, rate=rate), frame_rate=wanted)
    assert (made.frame_rate, made.duration_seconds) == (wanted, pytest.approx(2, abs=0.1))


def test_pictures_are_scaled_to_the_size_that_is_needed(
    film: Callable[..., Path], fit: Callable[..., tuple]
) -> None:
    made, _, _ = fit(film("a.mp4", *H264, side="426x240"), width=640, height=360)
    assert (made.width, made.height) == (640, 360)


def test_odd_sides_become_even(film: Callable[..., Path], fit: Callable[..., tuple]) -> None:
    made, _, _ = fit(film("a.webm", *VP9, side="161x91"))
    assert (made.width, made.height) == (160, 90)


def test_a_rendition_has_the_bytes_that_the_platform_takes(
    film: Callable[..., Path], fit: Callable[..., tuple], tmp_path: Path
) -> None:
    noisy = film("a.mp4", *H264, "-vf", "noise=alls=80:allf=t", "-crf", "10", side="320x180")
    limit = noisy.stat().st_size // 4
    made, _, _ = fit(noisy, max_bytes=limit)
    assert limit // 4 < (tmp_path / "made.mp4").stat().st_size <= limit
    assert made.duration_seconds == pytest.approx(2, abs=0.1)
    fit(film("b.mp4", *H264, side="64x48"), min_bytes=76_800)
    assert 76_800 <= (tmp_path / "made.mp4").stat().st_size < 200_000


def test_hdr_becomes_sdr_and_is_marked_as_such(film: Callable[..., Path], fit: Callable[..., tuple]) -> None:
    path = film("a.mov", *HEVC, "-vf", HLG)
    assert "arib-std-b67" in described(path)
    _, description, _ = fit(path)
    assert re.search(r"yuv420p\(tv, bt709", description)


def test_a_recording_of_a_browser_without_a_frame_rate_is_made(
    film: Callable[..., Path], fit: Callable[..., tuple], tmp_path: Path
) -> None:
    film("whole.webm", *VP9)
    command = (
        FFMPEG,
        "-v",
        "error",
        "-i",
        "whole.webm",
        "-c",
        "copy",
        "-live",
        "1",
        "-bsf:v",
        "setts=ts=TS+mod(N\\,3)",
        "a.webm",
    )
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    made, description, _ = fit(
        tmp_path / "a.webm",
    )
    assert made.duration_seconds == pytest.approx(2, abs=0.1)
    assert float(re.search(r"([\d.]+) fps", description)[1]) <= 60  # type: ignore[index]


def test_what_cannot_be_converted_is_refused_and_leaves_no_file_with_a_name(
    world: World,
    film: Callable[..., Path],
    fit: Callable[..., tuple],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(Refused):
        fit(film("a.mov", *HEVC), max_bytes=1_000)
    assert os.listdir(folder) == []


def test_a_rendition_runs_in_the_background(
    world: World, film: Callable[..., Path], fit: Callable[..., tuple], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    run = world.context.sandbox_pool.run_program

    def note(program, files, limits, **options):
        given.append((limits.in_background, limits.cpu_seconds))
        return run(program, files, limits, **options)

    monkeypatch.setattr(world.context.sandbox_pool, "run_program", note)
    fit(film("a.webm", *VP9))
    assert (True, 90) in given


def test_the_share_that_is_made_never_falls() -> None:
    shares: list[float] = []
    hear = rendition_making._reader(2.0, shares.append)
    for report in (
        b"out_time_us=900000\n",
        b"out_time_us=700000\n",
        b"out_time_us=N/A\n",
        b"out_time_us=2100000\n",
    ):
        hear(report)
    assert shares == [0.45, 0.45, 1.0]
