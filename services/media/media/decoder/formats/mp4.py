"""MP4 and QuickTime videos, wherever `moov` is. Only headers are read.

Kept: video and audio tracks. Metadata, unknown boxes and other tracks become `free` boxes of the same length, and the
samples of such tracks (locations from drones and action cameras) are overwritten. Refused: files without a video track,
incomplete files, data after the last box, and videos whose data is elsewhere.
"""

from media.decoder.formats import ParsedVideo, Patch, Refused
from media.decoder.formats.boxes import Box, Boxes
from media.decoder.formats.ranges import RangeReader
from media.decoder.formats.tracks import (
    PICTURE,
    SOUND,
    Track,
    duration_seconds,
    fragments_seconds,
    read_track,
    sample_ranges,
)

#: The boxes that are kept: at the top, in `moov` and in `trak`. Padding stays, emptied.
_TOP = frozenset(b"ftyp moov mdat wide moof mfra sidx styp ssix prft pdin".split())
_IN_MOVIE = frozenset(b"mvhd trak mvex iods".split())
_IN_TRACK = frozenset(b"tkhd tref edts mdia tapt".split())
_PADDING = frozenset((b"free", b"skip"))
#: Compressed headers, and files that only refer to other addresses.
_EXTERNAL = frozenset((b"cmov", b"rmra"))
_MAX_BRANDS_BYTES, _MAX_PADDING_READ = 1024, 1024 * 1024
#: Brands of videos. Images and audio in the same kind of boxes have others (heic, avif, M4A).
_BRANDS = frozenset(
    b"isom iso2 iso3 iso4 iso5 iso6 iso7 iso8 iso9 isoa isob isoc mp41 mp42 mp71 avc1 M4VH M4VP MSNV msnv dash XAVC "
    b"3gp4 3gp5 3gp6 3gp7 3gr6 3gs6 3g2a cmfc CAEP nvr1".split()
) | {b"M4V "}
_QUICKTIME = b"qt  "


def parse(file: RangeReader, mime_type: str) -> ParsedVideo:
    """Raises Refused."""
    boxes, video = Boxes(file), ParsedVideo()
    kinds: list[bytes] = []
    movie: Box | None = None
    for box in boxes.between(0, file.size):
        if box.kind == b"moov" and movie:
            raise Refused("The video is malformed.")
        if box.kind == b"ftyp":
            _check_brands(boxes, box, mime_type, first=not kinds)
        elif not kinds and mime_type != "video/quicktime":
            raise Refused("The video is malformed.")
        kinds.append(box.kind)
        movie = box if box.kind == b"moov" else movie
        _strip(boxes, box, _TOP, video)
    if movie is None or not {b"mdat", b"moof"} & set(kinds):
        raise Refused("The video is incomplete.")
    _movie(boxes, movie, video)
    return video


def _check_brands(boxes: Boxes, box: Box, mime_type: str, *, first: bool) -> None:
    if not first or not 8 <= box.length <= _MAX_BRANDS_BYTES or box.length % 4:
        raise Refused("The video is malformed.")
    said = boxes.file.read(box.body, box.length)
    major, brands = said[:4], {said[at : at + 4] for at in (0, *range(8, len(said), 4))}
    taken = _BRANDS if mime_type == "video/mp4" else _BRANDS | {_QUICKTIME}
    if not taken & brands or (mime_type == "video/mp4" and major == _QUICKTIME):
        raise Refused(f"The file is not {mime_type}.")


def _movie(boxes: Boxes, movie: Box, video: ParsedVideo) -> None:
    tracks: list[Track] = []
    for box in boxes.inside(movie):
        if box.kind in _EXTERNAL:
            raise Refused("The video's data is in another file.")
        _strip(boxes, box, _IN_MOVIE, video)
        if box.kind == b"mvhd":
            video.duration_seconds = duration_seconds(boxes, box)
        elif box.kind == b"trak":
            tracks.append(read_track(boxes, box))
            for child in boxes.inside(box):
                _strip(boxes, child, _IN_TRACK, video)
    shown = next((track for track in tracks if track.handler == PICTURE), None)
    if shown is None:
        raise Refused("The file has no video track.")
    video.width, video.height = shown.width or None, shown.height or None
    lasts = video.duration_seconds or max((it.duration_seconds or 0 for it in tracks), default=0)
    video.duration_seconds = round(lasts or fragments_seconds(boxes, movie) or 0, 3) or None
    for track in tracks:
        if track.handler not in (PICTURE, SOUND):
            video.patches += (Patch(*place) for place in sample_ranges(boxes, track))
            video.patches += _as_free(track.box)


def _strip(boxes: Boxes, box: Box, stays: frozenset[bytes], video: ParsedVideo) -> None:
    """Removes a box that is not kept, and empties padding. Raises Refused for what is not a box."""
    if box.kind in _PADDING:
        if box.length > _MAX_PADDING_READ or any(boxes.file.read(box.body, box.length)):
            video.patches.append(Patch(box.body, box.length))
    elif box.kind not in stays:
        if not all(0x20 <= byte < 0x7F or byte == 0xA9 for byte in box.kind):
            raise Refused("The file contains data that is not part of the video.")
        video.patches += _as_free(box)


def _as_free(box: Box) -> tuple[Patch, Patch]:
    return Patch(box.start + 4, 4, b"free"), Patch(box.body, box.length)
