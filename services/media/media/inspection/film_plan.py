"""Decides what ffmpeg must do so that a video fits a platform's need: copy it into an MP4, or encode it anew. Pure.

What is encoded anew also meets limits that platforms' tables do not name. X takes H.264, AAC-LC, 4:2:0, closed groups
of pictures, square pixels, mono or stereo (docs.x.com, "Best practices" of media uploads), Instagram 48 kHz and 25
Mbit/s (reference of IG User Media).
"""

import os

from contracts.renditions import Need
from media.inspection.film import Film

#: The most pixels on the longer side that Instagram and X take; 4K would need four times the CPU.
LONGEST_SIDE = 1_920
#: Of pictures: platforms take 25 Mbit/s in all. It bounds the size too: with a buffer of a second no second has more.
_MOST_BITS_A_SECOND = 24_000_000
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
_QUALITY = "-preset veryfast -crf 21"
#: Where platforms bound the rate: above it frames are dropped. Also for recordings of browsers, which tell no rate.
_MOST_FRAMES_A_SECOND = 60
_AAC = (
    f"-c:a aac -b:a {_SOUND_BITS_A_SECOND} -af aformat=channel_layouts=mono|stereo:sample_rates=44100|48000"
)
#: One thread less than the machine has, so that other work goes on.
THREADS = max(1, (os.cpu_count() or 1) - 1)


def copies(need: Need, film: Film) -> bool:
    """Whether the video track may be copied into the rendition, and need not be encoded anew."""
    return (
        not (need.width or need.frame_rate)
        and film.video_codec in (need.video_codecs or ("h264",))
        and film.has_square_pixels
        and need.min_bytes <= film.size_bytes <= need.max_bytes * (1 - _CONTAINER)
    )


def copying(film: Film) -> str:
    """Returns ffmpeg's arguments for a rendition with a copied video track."""
    tag = "-tag:v hvc1" if film.video_codec == "hevc" else ""
    return f"-c:v copy {tag} -strict experimental {_sound(film)}"


def encoding(need: Need, film: Film, *, fills: bool = False) -> str:
    """Returns ffmpeg's arguments for H.264 and AAC. `fills`: pads the file to the platform's least size."""
    bits, quality = bits_a_second(need, film), _QUALITY
    if fills:
        bits = int(need.min_bytes * 8 * 1.2 / (film.duration_seconds or _UNKNOWN_SECONDS))
        quality = f"-preset veryfast -b:v {bits} -minrate {bits} -x264-params nal-hrd=cbr"
    return (
        f"-vf {','.join(filters(need, film))} -fpsmax {_MOST_FRAMES_A_SECOND} -c:v libx264 -profile:v high {quality}"
        f" -maxrate {bits} -bufsize {bits} -g 120 -flags +cgop -threads {THREADS} {_sound(film)}"
    )


def bits_a_second(need: Need, film: Film) -> int:
    """Returns the bit rate for the pictures: the highest that fits the need's bytes, is useful, and platforms take."""
    seconds = film.duration_seconds or _UNKNOWN_SECONDS
    sound = film.sound_bits_a_second if _copies_sound(film) else _SOUND_BITS_A_SECOND
    fits = need.max_bytes * 8 * (1 - _CONTAINER) / (seconds + 1) - sound
    useful = max(film.size_bytes * 8 / seconds * _BITS_OF_SOURCE, _LEAST_BITS_A_SECOND)
    return int(max(min(fits, useful, _MOST_BITS_A_SECOND), 1))


def filters(need: Need, film: Film) -> list[str]:
    """Returns ffmpeg's filters for frame rate, size, and from HDR to SDR. ffmpeg itself turns frames upright."""
    width, height = size(need, film)
    rate = [f"fps={need.frame_rate:g}"] if need.frame_rate else []
    scaled = f"scale={width}:{height}:flags=bicubic" + ("" if film.hdr else ":out_range=tv")
    depth = ["format=yuv420p10le"] if film.hdr else []
    made = ["bwdif=mode=send_frame:deint=interlaced", *rate, scaled, "setsar=1", *depth]
    return [*made, *to_sdr(film), "format=yuv420p"]


def to_sdr(film: Film) -> list[str]:
    """Returns ffmpeg's filters from HDR (PQ or HLG) to BT.709; none for a video that is not HDR."""
    if film.hdr is None:
        return []
    # Without tags zscale refuses; the transfer function is known, and the others go with it.
    tags = f"setparams=color_primaries=bt2020:colorspace=bt2020nc:color_trc={film.hdr}:range=tv"
    linear = [tags, "zscale=t=linear:npl=203", "format=gbrpf32le", "zscale=p=bt709"]
    return [*linear, "tonemap=mobius:desat=0", "zscale=t=bt709:m=bt709:r=tv"]


def size(need: Need, film: Film) -> tuple[int, int]:
    """Returns width and height of the rendition, in pixels. Both are even, as H.264 needs."""
    if need.width and need.height:
        return need.width, need.height
    scale = min(1.0, LONGEST_SIDE / max(film.width, film.height))
    width, height = (max(2, int(side * scale) // 2 * 2) for side in (film.width, film.height))
    return width, height


def _copies_sound(film: Film) -> bool:
    return film.audio_codec == "aac" and 0 < film.sound_bits_a_second <= _MOST_COPIED_SOUND_BITS


def _sound(film: Film) -> str:
    return "-c:a copy" if _copies_sound(film) else _AAC
