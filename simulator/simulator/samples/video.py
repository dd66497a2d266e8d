"""Makes sample films without sound: H.264 in an MP4 or MOV file, VP8 in a WebM file."""

import tempfile
from functools import lru_cache

from simulator import ffmpeg
from simulator.samples import photo

#: File name ending → longest film in seconds and longest side in pixels. VP8 takes more CPU time to encode.
LIMITS = {"mp4": (1200, 1920), "mov": (1200, 1920), "webm": (30, 640)}
#: Frames per second; platforms accept 23 to 60 (platforms.md 3).
FRAMES_PER_SECOND = 30
#: A longer film repeats its first 10 seconds: encoding a film of 20 minutes as a whole would take minutes.
_REPEATED_SECONDS = 10
#: Adds noise to the picture: without it a film of 5 s has 11 kB, and LinkedIn accepts none below 75 kB.
_GRAIN = "noise=alls=60"


@lru_cache(maxsize=8)
def make(
    seconds: int, width: int = 640, height: int = 360, ending: str = "mp4", moov_last: bool = False
) -> bytes:
    """Returns a film that shows a sample photo (WebM: ffmpeg's test pattern). Width and height are in pixels and must
    be even.

    `moov_last` puts the index of an MP4 or MOV file after the data.
    """
    if ending == "webm":
        return _webm(seconds, width, height)
    placed = () if moov_last else ("-movflags", "+faststart")
    if seconds <= _REPEATED_SECONDS:
        return _h264(seconds, width, height, ending, placed)
    with tempfile.NamedTemporaryFile(suffix=".mp4") as file:
        file.write(_h264(_REPEATED_SECONDS, width, height, "mp4"))
        file.flush()
        repeated = ("-stream_loop", "-1", "-i", file.name, "-t", str(seconds), "-c", "copy", *placed)
        return ffmpeg.encode(ending, repeated)


def _h264(seconds: int, width: int, height: int, ending: str, options: tuple[str, ...] = ()) -> bytes:
    frames = seconds * FRAMES_PER_SECOND
    return ffmpeg.encode(
        ending,
        (
            "-f", "png_pipe", "-i", "-", "-vf", f"{_GRAIN},{ffmpeg.still(frames, FRAMES_PER_SECOND)}",
            "-r", str(FRAMES_PER_SECOND), "-frames:v", str(frames), "-g", str(frames), *ffmpeg.H264, *options,
        ),
        photo.draw(width, height, "png"),
    )  # fmt: skip


def _webm(seconds: int, width: int, height: int) -> bytes:
    source = f"testsrc=size={width}x{height}:rate=10:duration={seconds}"
    codec = ("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "200k", "-threads", "1")
    return ffmpeg.encode("webm", ("-f", "lavfi", "-i", source, *codec))
