"""Films: a slow pan over a poster or over the picture that was given, as an MP4 that plays while it loads."""

import subprocess
import tempfile
import threading
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]

from simulator.studio import poster

FRAMES_PER_SECOND = 24
#: The picture is this much larger than the film, so that there is somewhere to pan to.
_ROOM = 1.1
#: ffmpeg processes at a time, one thread each (our choice: a developer's machine has other work).
_PLACES = threading.Semaphore(2)
_LONGEST_RUN_SECONDS = 60


@lru_cache(maxsize=32)
def make(prompt: str, width: int, height: int, seconds: int, picture: bytes | None = None) -> bytes:
    """H.264 without sound, `moov` first; width and height in pixels, both even. Under 1 s of CPU for 8 s."""
    still = BytesIO()
    pictures = (picture,) if picture else ()
    size = int(width * _ROOM) & ~1, int(height * _ROOM) & ~1
    poster.canvas(prompt.encode("utf-8", "replace").decode(), *size, pictures).save(
        still, "PNG", compress_level=1
    )
    with tempfile.TemporaryDirectory() as folder, _PLACES:
        target = Path(folder) / "film.mp4"
        subprocess.run(
            _command(width, height, seconds * FRAMES_PER_SECOND, target), input=still.getvalue(),
            check=True, capture_output=True, timeout=_LONGEST_RUN_SECONDS,
        )  # fmt: skip
        return target.read_bytes()


def _command(width: int, height: int, frames: int, target: Path) -> list[str]:
    pan = (
        f"loop=loop={frames}:size=1:start=0,setpts=N/{FRAMES_PER_SECOND}/TB,format=yuv420p,"
        f"crop={width}:{height}:x='(iw-ow)*n/{frames}':y='(ih-oh)*n/{frames}'"
    )
    return [
        imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-threads", "1", "-f", "png_pipe", "-i", "-",
        "-vf", pan, "-r", str(FRAMES_PER_SECOND), "-frames:v", str(frames), "-an",
        "-c:v", "libx264", "-preset", "ultrafast", "-crf", "32", "-threads", "1",
        "-movflags", "+faststart", str(target),
    ]  # fmt: skip
