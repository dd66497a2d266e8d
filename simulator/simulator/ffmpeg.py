"""Runs the ffmpeg program of the Python package imageio-ffmpeg, so that none has to be installed on the machine."""

import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]

#: H.264 by one thread, with speed preferred to quality, because the films are only test data.
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-crf", "32", "-threads", "1")
#: Number of ffmpeg processes at the same time, each with one thread. Our choice: other processes need the machine too.
_SLOTS = threading.Semaphore(2)
_LONGEST_RUN_SECONDS = 60


def still(frames: int, frames_per_second: int) -> str:
    """Returns the ffmpeg filter that repeats a single picture for this number of frames."""
    return f"loop=loop={frames}:size=1:start=0,setpts=N/{frames_per_second}/TB,format=yuv420p"


def encode(ending: str, arguments: Sequence[str], source: bytes = b"") -> bytes:
    """Runs ffmpeg and returns the file that it writes. `source` is its standard input. `ending` is the file name
    extension, from which ffmpeg derives the container format.

    Raises CalledProcessError if ffmpeg fails, and TimeoutExpired after a minute.
    """
    with tempfile.TemporaryDirectory() as folder, _SLOTS:
        target = Path(folder) / f"film.{ending}"  # a file, because the length is written into it at the end
        subprocess.run(
            [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *arguments, "-an", str(target)],
            input=source, check=True, capture_output=True, timeout=_LONGEST_RUN_SECONDS,
        )  # fmt: skip
        return target.read_bytes()
