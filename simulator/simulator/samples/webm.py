"""Sample videos in WebM: VP8 without sound, by ffmpeg."""

import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]

#: They are encoded when they are asked for: small and short, under a second of CPU (our choice).
MAX_SECONDS, MAX_SIDE = 30, 640
_LONGEST_RUN_SECONDS = 60


@lru_cache(maxsize=8)
def make(seconds: int, width: int, height: int) -> bytes:
    """A test picture for whole seconds; width and height in pixels, both even."""
    source = f"testsrc=size={width}x{height}:rate=10:duration={seconds}"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "sample.webm"  # a pipe would not be told the length
        command = [
            imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-f", "lavfi", "-i", source, "-an",
            "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "200k", "-threads", "1",
            str(target),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=_LONGEST_RUN_SECONDS)
        return target.read_bytes()
