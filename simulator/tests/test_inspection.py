"""What the simulator reads of a film."""

import subprocess
from pathlib import Path

import imageio_ffmpeg

from simulator import inspection
from simulator.samples import video

HEVC = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error", "-tag:v", "hvc1")


def made(folder: Path, name: str, *options: str, given: bytes = b"") -> bytes:
    """Makes a film with ffmpeg from `given`, by default from a test picture of 320 × 180 pixels and one second."""
    source = ("-f", "lavfi", "-i", "testsrc2=s=320x180:r=10:d=1")
    if given:
        (folder / "given.mp4").write_bytes(given)
        source = ("-i", str(folder / "given.mp4"))
    turned, options = (options[:2], options[2:]) if options[0] == "-display_rotation" else ((), options)
    argv = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *turned, *source, *options, str(folder / name)]
    subprocess.run(argv, check=True, timeout=60)
    return (folder / name).read_bytes()


def test_codec_and_size_of_a_film_are_read_as_displayed(tmp_path: Path) -> None:
    plain = inspection.video(video.make(1, 320, 180))
    assert (plain.codec, plain.width, plain.height) == ("h264", 320, 180)
    turned = made(
        tmp_path, "turned.mov", "-display_rotation", "90", "-c", "copy", given=video.make(1, 320, 180)
    )
    assert (inspection.video(turned).width, inspection.video(turned).height) == (180, 320)
    assert inspection.video(made(tmp_path, "other.mp4", *HEVC)).codec == "hevc"
    assert inspection.video(made(tmp_path, "old.mp4", "-c:v", "mpeg4")).codec == "mp4v"
