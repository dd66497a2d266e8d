"""Runs the ffmpeg of the wheel imageio-ffmpeg, so that nothing has to be installed on the machine."""

import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]

#: H.264 by one thread, quickly: nobody looks at these films for their beauty.
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-crf", "32", "-threads", "1")
#: ffmpeg processes at a time, of one thread each: the machine has other work to do.
_SLOTS = threading.Semaphore(2)
_LONGEST_RUN_SECONDS = 60


def still(frames: int, frames_per_second: int) -> str:
    """Returns the filter that shows a single picture for this number of frames."""
    return f"loop=loop={frames}:size=1:start=0,setpts=N/{frames_per_second}/TB,format=yuv420p"


def encode(ending: str, arguments: Sequence[str], source: bytes = b"") -> bytes:
    """Returns the file that ffmpeg writes. `source` is ffmpeg's input; `ending` is the file name's extension, which
    decides the container.

    Raises CalledProcessError if ffmpeg fails, and TimeoutExpired after a minute.
    """
    with tempfile.TemporaryDirectory() as folder, _SLOTS:
        target = Path(folder) / f"film.{ending}"  # a file, because the length is written into it at the end
        subprocess.run(
            [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *arguments, "-an", str(target)],
            input=source, check=True, capture_output=True, timeout=_LONGEST_RUN_SECONDS,
        )  # fmt: skip
        return target.read_bytes()
