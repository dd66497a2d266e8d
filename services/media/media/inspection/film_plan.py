"""Decides what ffmpeg must do so that a video fits a platform's need: copy it into an MP4, or encode it anew. Pure.

Platforms refuse more than their documents' tables say: X takes only H.264, low-complexity AAC, 4:2:0, no open group
of pictures, square pixels, mono or stereo (docs.x.com, "Best practices" of media uploads); Instagram at most 48 kHz
and 25 Mbit/s (reference of IG User Media). What is encoded anew meets all of these. The picture is never cropped, and
the length stays.
"""

import os
import re
from collections.abc import Sequence

from contracts.record import Record
from contracts.renditions import Need

#: Platforms show at most this many pixels on the longer side of a video that they do not take as it is (Instagram's
#: limit; X's is the same), and 4K takes four times the CPU.
LONGEST_SIDE = 1_920
#: Of pictures: Instagram's limit. It bounds the size too: with a buffer of a second no second has more bits.
_MOST_BITS_A_SECOND = 25_000_000
#: H.264 needs up to half as many bits again as HEVC, VP9 and AV1 for the same quality; more than that is wasted.
_BITS_OF_SOURCE, _LEAST_BITS_A_SECOND = 1.5, 1_000_000
_SOUND_BITS_A_SECOND = 128_000
#: More than that is wasted on people's ears, and its share of a small limit on their eyes: it is encoded anew.
_MOST_COPIED_SOUND_BITS = 320_000
#: The container's share of the size: an entry of some bytes for each frame.
_CONTAINER = 0.03
#: For videos that do not tell their length. Our choice.
_UNKNOWN_SECONDS = 600.0
#: Of x264: nobody sees a difference from the source, and 1080p is encoded faster than it plays. Our choice.
_QUALITY = ("-preset", "veryfast", "-crf", "21")
#: Where the platform bounds the rate; above it frames are dropped. It also stands for the rate that a recording of a
#: browser does not tell.
_MOST_FRAMES_A_SECOND = "60"
#: The niceness of work that nobody waits for.
LOWEST_PRIORITY = 19

_PICTURES = re.compile(r"^  Stream #0:\d+.*?: Video: (\w+)(.*)$", re.MULTILINE)
_SOUND = re.compile(r"^  Stream #0:\d+.*?: Audio: .*$", re.MULTILINE)
_USUAL_AAC, _MAX_HERTZ = re.compile(r": Audio: aac \(LC\).*?, (\d+) Hz, (?:mono|stereo)\b"), 48_000
_KILOBITS = re.compile(r", (\d+) kb/s")
#: ffmpeg's names of the transfer functions of HDR: PQ and HLG.
_HDR = re.compile(r"/(smpte2084|arib-std-b67)\b")
_SQUARE = re.compile(r"\bSAR (?!1:1\b)\d+:\d+")


class Source(Record):
    """A stored video of which a rendition is made."""

    #: ffmpeg's description of it.
    description: str
    size_bytes: int
    #: Pixels as displayed.
    width: int
    height: int
    duration_seconds: float | None


def copies(need: Need, source: Source) -> bool:
    """Whether the pictures may be copied as they are. Otherwise they must be encoded anew."""
    pictures = _PICTURES.search(source.description)
    if pictures is None or need.width or need.frame_rate:
        return False
    codec, told = pictures.groups()
    is_plain = codec != "h264" or ("yuv420p(" in told or "yuv420p," in told)
    return (
        codec in (need.video_codecs or ("h264",))
        and is_plain
        and not _SQUARE.search(told)
        and need.min_bytes <= source.size_bytes <= need.max_bytes * (1 - _CONTAINER)
    )


def copying(source: Source) -> Sequence[str]:
    """Returns ffmpeg's arguments for copying the pictures."""
    tag = ("-tag:v", "hvc1") if ": Video: hevc" in source.description else ()
    return ("-c:v", "copy", *tag, "-strict", "experimental", *_sound(source))


def encoding(need: Need, source: Source, *, fills: bool = False) -> Sequence[str]:
    """Returns ffmpeg's arguments for encoding as H.264 and AAC.

    `fills`: adds filler bytes until the file has the platform's least size.
    """
    bits = bits_a_second(need, source)
    seconds = source.duration_seconds or _UNKNOWN_SECONDS
    if fills:
        bits = int(need.min_bytes * 8 * 1.2 / seconds)
    rate = ("-maxrate", str(bits), "-bufsize", str(bits))
    filler = ("-b:v", str(bits), "-minrate", str(bits), "-x264-params", "nal-hrd=cbr") if fills else ()
    quality = _QUALITY[:2] if fills else _QUALITY
    return (
        *("-vf", ",".join(filters(need, source)), "-fpsmax", _MOST_FRAMES_A_SECOND),
        *("-c:v", "libx264", "-profile:v", "high", *quality, *rate, *filler, "-g", "120", "-flags", "+cgop"),
        *("-threads", str(threads()), *_sound(source)),
    )


def bits_a_second(need: Need, source: Source) -> int:
    """Returns the most bits per second for the pictures: as many as fit the need's bytes, but no more than the source
    can use."""
    seconds = source.duration_seconds or _UNKNOWN_SECONDS
    fits = need.max_bytes * 8 * (1 - _CONTAINER) / (seconds + 1) - sound_bits_a_second(source)
    useful = max(source.size_bytes * 8 / seconds * _BITS_OF_SOURCE, _LEAST_BITS_A_SECOND)
    return int(max(min(fits, useful, _MOST_BITS_A_SECOND), 1))


def filters(need: Need, source: Source) -> list[str]:
    """Returns ffmpeg's filters for the pictures: frame rate, size, and from HDR to SDR. ffmpeg itself has turned them
    upright."""
    width, height = size(need, source)
    rate = [f"fps={need.frame_rate:g}"] if need.frame_rate else []
    sdr = to_sdr(source.description)
    scaled = f"scale={width}:{height}:flags=bicubic" + ("" if sdr else ":out_range=tv")
    depth = ["format=yuv420p10le"] if sdr else []
    made = ["bwdif=mode=send_frame:deint=interlaced", *rate, scaled, "setsar=1", *depth, *sdr]
    return [*made, "format=yuv420p"]


def to_sdr(description: str) -> list[str]:
    """Returns ffmpeg's filters from HDR (PQ or HLG) to BT.709; none for a video that is not HDR."""
    pictures = _PICTURES.search(description)
    hdr = _HDR.search(pictures[0]) if pictures else None
    if hdr is None:
        return []
    # Without tags zscale refuses; the transfer function is known, and the others go with it.
    tags = f"setparams=color_primaries=bt2020:colorspace=bt2020nc:color_trc={hdr[1]}:range=tv"
    linear = [tags, "zscale=t=linear:npl=203", "format=gbrpf32le", "zscale=p=bt709"]
    return [*linear, "tonemap=mobius:desat=0", "zscale=t=bt709:m=bt709:r=tv"]


def size(need: Need, source: Source) -> tuple[int, int]:
    """Returns width and height of the rendition, in pixels.

    Both are even, as H.264 needs. No side is longer than LONGEST_SIDE unless the need asks for more.
    """
    if need.width and need.height:
        return need.width, need.height
    scale = min(1.0, LONGEST_SIDE / max(source.width, source.height))
    width, height = (max(2, int(side * scale) // 2 * 2) for side in (source.width, source.height))
    return width, height


def threads() -> int:
    """Returns how many threads ffmpeg uses: one less than the machine has, so that other work goes on."""
    return max(1, (os.cpu_count() or 1) - 1)


def is_usual_aac(description: str) -> bool:
    """Whether ffmpeg's text describes sound that every platform takes: low-complexity AAC, mono or stereo, at most 48
    kHz (docs.x.com, "Best practices" of media uploads; Instagram's reference of IG User Media)."""
    usual = _USUAL_AAC.search(description)
    return usual is not None and int(usual[1]) <= _MAX_HERTZ


def sound_bits_a_second(source: Source) -> int:
    """Returns the bits per second of the sound in the rendition: those of the source if the sound is copied."""
    return _copied_sound_bits(source) or _SOUND_BITS_A_SECOND


def _copied_sound_bits(source: Source) -> int | None:
    sound = _SOUND.search(source.description)
    rate = _KILOBITS.search(sound[0]) if sound else None
    if sound is None or rate is None or not is_usual_aac(sound[0]):
        return None
    bits = int(rate[1]) * 1_000
    return bits if bits <= _MOST_COPIED_SOUND_BITS else None


def _sound(source: Source) -> Sequence[str]:
    if _copied_sound_bits(source):
        return ("-c:a", "copy")
    layouts = "aformat=channel_layouts=mono|stereo:sample_rates=44100|48000"
    return ("-c:a", "aac", "-b:a", str(_SOUND_BITS_A_SECOND), "-af", layouts)
