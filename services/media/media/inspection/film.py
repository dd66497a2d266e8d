"""Reads the properties of a video from ffmpeg's text about it. Pure."""

import re

from contracts.renditions import FileFacts
from media.decoder.formats import Refused

UNREADABLE = "The video cannot be opened, or has no picture. Export it as MP4 with H.264, and upload that."
#: The largest side in pixels that MP4 can express; and four months. Larger figures come from broken or forged files.
_MAX_SIDE, _MAX_SECONDS = 65_535, 1e7
_DURATION = re.compile(r"^  Duration: (\d+):(\d\d):(\d\d\.\d+),", re.MULTILINE)
#: The description of a stream with pictures: its line, and the further indented lines below it.
_PICTURES = re.compile(
    r"^  Stream #0:\d+.*?: Video: (\w+).*?, (\d+)x(\d+)\b(?:.*?\bSAR (\d+):(\d+))?.*(?:\n {4}.*)*",
    re.MULTILINE,
)
_ON_ITS_SIDE = re.compile(r"rotation of -?(?:90|270)\.00 degrees")
#: ffmpeg's names of pixels: 8 bits and 4:2:0 are what platforms take of H.264.
_PIXELS, _USUAL_PIXELS = re.compile(r"\byuvj?4\d\dp\w*"), ("yuv420p", "yuvj420p")
#: ffmpeg's names of the transfer functions of HDR: PQ and HLG.
_HDR = re.compile(r"/(smpte2084|arib-std-b67)\b")
#: Frames a second, constant if the average is the rate of all timestamps. Of WebM, without an index, both are guessed.
_COUNTS_FRAMES = "Input #0, mov,"
_CONSTANT_FRAME_RATE = re.compile(r", (\d+(?:\.\d+)?) fps, \1 tbr\b")
_SOUND = re.compile(r"^  Stream #0:\d+.*?: Audio: ((\w+).*)$", re.MULTILINE)
_KILOBITS = re.compile(r", (\d+) kb/s")
#: What follows codec, profile, rate and channels, and the container's name of the codec.
_NOT_NAMED = re.compile(r" \(\w+ / 0x\w+\)|, fltp.*")
#: Sound that every platform takes (X's "Best practices" of media uploads; Instagram's reference of IG User Media).
_USUAL_AAC, _MAX_HERTZ = re.compile(r"aac \(LC\), (\d+) Hz, (?:mono|stereo)\b"), 48_000


class Film(FileFacts, kw_only=True):
    """The properties of a video that decide how ffmpeg converts it."""

    #: Pixels as displayed.
    width: int
    height: int
    size_bytes: int = 0
    #: ffmpeg's name of the transfer function, of HDR alone.
    hdr: str | None = None
    has_square_pixels: bool = True
    sound_bits_a_second: int = 0


def described(text: str) -> Film:
    """Returns the properties in ffmpeg's text about a video, except its size. Raises Refused without a video track."""
    pictures, lasts = _PICTURES.search(text), _DURATION.search(text)
    if pictures is None:
        raise Refused(UNREADABLE)
    width, height, wide, high = (int(it or 1) for it in pictures.groups()[1:])
    if wide and high:
        width = round(width * wide / high)
    if _ON_ITS_SIDE.search(pictures[0]):
        width, height = height, width
    if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
        raise Refused(UNREADABLE)
    seconds = int(lasts[1]) * 3600 + int(lasts[2]) * 60 + float(lasts[3]) if lasts else 0
    line = pictures[0].partition("\n")[0]
    rate = _CONSTANT_FRAME_RATE.search(line) if _COUNTS_FRAMES in text else None
    pixels, hdr = _PIXELS.search(line), _HDR.search(line)
    is_usual = pictures[1] != "h264" or pixels is None or pixels[0] in _USUAL_PIXELS
    sound = _SOUND.search(text)
    bits = _KILOBITS.search(sound[0]) if sound else None
    codec, named = (sound[2], _NOT_NAMED.sub("", sound[1])) if sound else ("none", "none")
    usual = _USUAL_AAC.match(named)
    is_named = codec == "aac" and not (usual and int(usual[1]) <= _MAX_HERTZ)
    return Film(
        type="video",
        width=width,
        height=height,
        duration_seconds=round(seconds, 3) if 0 < seconds < _MAX_SECONDS else None,
        frame_rate=float(rate[1]) or None if rate else None,
        video_codec=pictures[1] if is_usual else f"{pictures[1]} {pixels and pixels[0]}",
        audio_codec=named if is_named else codec,
        hdr=hdr and hdr[1],
        has_square_pixels=wide == high,
        sound_bits_a_second=int(bits[1]) * 1_000 if bits else 0,
    )
