"""What ffmpeg's description of a video's copy says, and which videos are refused before ffmpeg reads them."""

import pytest

from contracts.renditions import FileFacts
from media.decoder.formats import Refused
from media.inspection.film import described

MP4 = """Input #0, mov,mp4,m4a,3gp,3g2,mj2, from 'fd:':
  Metadata:
    major_brand     : isom
  Duration: 01:02:03.50, start: 0.000000, bitrate: 81 kb/s
  Stream #0:0[0x1](und): Video: hevc (Main 10) (hvc1), yuv420p(tv), 1920x1080 [SAR 1:1 DAR 16:9], 9 fps, 9 tbr, 1k tbn
    Metadata:
      handler_name    : VideoHandler
  Stream #0:1[0x2](und): Audio: aac (LC) (mp4a / 0x6134706D), 44100 Hz, mono, fltp, 69 kb/s (default)
At least one output file must be specified
"""
WEBM = """Input #0, matroska,webm, from 'fd:':
  Duration: 00:00:02.01, start: 0.000000, bitrate: 79 kb/s
  Stream #0:0: Audio: opus, 48000 Hz, mono, fltp
  Stream #0:1: Video: vp8, yuv420p(tv, progressive), 720x576, SAR 16:15 DAR 4:3, 10 fps, 10 tbr, 1k tbn
"""
TURNED = """      handler_name    : VideoHandler
    Side data:
      Display Matrix: rotation of -90.00 degrees
"""


@pytest.mark.parametrize(
    ("output", "properties"),
    [
        (MP4, (1920, 1080, 3723.5, 9.0)),
        (MP4.replace("      handler_name    : VideoHandler\n", TURNED), (1080, 1920, 3723.5, 9.0)),
        (
            MP4.replace("handler_name    : VideoHandler", "rotation of 180.00 degrees"),
            (1920, 1080, 3723.5, 9.0),
        ),
        (MP4.replace("(default)\nAt least", "(default)\n" + TURNED + "At least"), (1920, 1080, 3723.5, 9.0)),
        (MP4.replace("01:02:03.50", "N/A"), (1920, 1080, None, 9.0)),
        (MP4.replace("01:02:03.50", "00:00:00.00"), (1920, 1080, None, 9.0)),
        (MP4.replace("01:02:03.50", "2562047:47:16.85"), (1920, 1080, None, 9.0)),
        (MP4.replace("9 fps, 9 tbr", "29.97 fps, 29.97 tbr"), (1920, 1080, 3723.5, 29.97)),
        # Phones vary the rate: the average may be below what platforms accept, though they accept the video.
        (MP4.replace("9 fps, 9 tbr", "22.31 fps, 30 tbr"), (1920, 1080, 3723.5, None)),
        (MP4.replace("9 fps, 9 tbr", "9 fps, 90k tbr"), (1920, 1080, 3723.5, None)),
        (MP4.replace("9 fps, 9 tbr", "9 fps, 9.5 tbr"), (1920, 1080, 3723.5, None)),
        (MP4.replace("9 fps, 9 tbr", "9 fps"), (1920, 1080, 3723.5, None)),
        (MP4.replace("9 fps, 9 tbr", "1k fps, 1k tbr"), (1920, 1080, 3723.5, None)),
        (MP4.replace("9 fps, 9 tbr, ", ""), (1920, 1080, 3723.5, None)),
        (WEBM, (768, 576, 2.01, None)),
        (WEBM.replace("SAR 16:15", "SAR 0:1"), (720, 576, 2.01, None)),
    ],
)
def test_the_description_of_a_copy_has_its_displayed_size_duration_constant_frame_rate_and_codec(
    output: str, properties: tuple
) -> None:
    codecs = ("vp8", "opus") if "matroska" in output else ("hevc", "aac")
    names = ("width", "height", "duration_seconds", "frame_rate", "video_codec", "audio_codec")
    found = dict(zip(names, (*properties, *codecs), strict=True))
    assert FileFacts.made_from(described(output)) == FileFacts(type="video", size_bytes=0, **found)


@pytest.mark.parametrize(
    ("pictures", "codec"),
    [
        ("h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709), 1920x1080, 30 fps, 30 tbr", "h264"),
        ("h264 (Baseline) (avc1 / 0x31637661), yuvj420p(pc), 1920x1080, 30 fps, 30 tbr", "h264"),
        ("h264 (High 4:2:2) (avc1 / 0x31637661), yuv422p10le(tv), 1920x1080, 25 fps", "h264 yuv422p10le"),
        ("hevc (Main 10) (hvc1 / 0x31637668), yuv420p10le(tv), 3840x2160, 30 fps", "hevc"),
    ],
)
def test_h264_of_unusual_pixels_is_named_with_them(pictures: str, codec: str) -> None:
    assert described(f"  Stream #0:0[0x1](und): Video: {pictures}\n").video_codec == codec


@pytest.mark.parametrize(
    ("sound", "codec"),
    [
        (None, "none"),
        ("aac (LC) (mp4a / 0x6134706D), 48000 Hz, stereo, fltp, 253 kb/s (default)", "aac"),
        ("aac (LC) (mp4a / 0x6134706D), 48000 Hz, 5.1, fltp, 341 kb/s", "aac (LC), 48000 Hz, 5.1"),
        ("aac (HE-AAC) (mp4a / 0x6134706D), 44100 Hz, stereo, fltp", "aac (HE-AAC), 44100 Hz, stereo"),
        ("pcm_s16le (sowt / 0x74776F73), 48000 Hz, stereo, s16, 1536 kb/s (default)", "pcm_s16le"),
        ("opus, 48000 Hz, mono, fltp", "opus"),
    ],
)
def test_sound_is_named_and_unusual_aac_with_what_is_unusual(sound: str | None, codec: str) -> None:
    output = "  Stream #0:0[0x1](und): Video: h264, yuv420p(tv), 1920x1080\n"
    if sound is not None:
        output += f"  Stream #0:1[0x2](eng): Audio: {sound}\n    Metadata:\n"
    assert described(output).audio_codec == codec


@pytest.mark.parametrize(
    "output",
    [
        "",
        MP4.replace("Video:", "Audio:"),
        MP4.replace("1920x1080", "0x1080"),
        MP4.replace("1920x1080", "65536x1080"),
        MP4.replace("SAR 1:1", "SAR 2147483647:1"),
    ],
)
def test_a_copy_without_pictures_of_a_possible_size_is_refused(output: str) -> None:
    with pytest.raises(Refused):
        described(output)
