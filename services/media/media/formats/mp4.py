"""MP4 and QuickTime: the tree of boxes, wherever `moov` stands. Metadata boxes become `free` ones, filled with zeros.

Only headers are read; samples are not decoded. Refused: what has no picture track, what is cut off, what follows or
hides in boxes nobody knows, and films that point to other addresses.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from media.formats import Patch, Refused, Video
from media.formats.ranges import Ranges

#: Fragmented films have a pair of boxes every few seconds. Our choice.
_MAX_BOXES = 20_000
_MAX_METADATA_READ = 1024 * 1024
_TOP = frozenset(
    b"ftyp moov mdat free skip wide uuid udta meta moof mfra sidx styp ssix emsg prft pdin pnot PICT".split()
)
_METADATA = frozenset((b"udta", b"meta", b"uuid"))
_PADDING = frozenset((b"free", b"skip"))
#: Compressed headers, and films that are lists of other addresses.
_REFUSED = frozenset((b"cmov", b"rmra"))
#: Brands of films; pictures and sound in the same boxes have others (heic, avif, M4A).
_BRANDS = frozenset(
    b"isom iso2 iso3 iso4 iso5 iso6 iso7 iso8 iso9 mp41 mp42 mp71 avc1 M4V\x20 M4VH M4VP MSNV msnv dash XAVC "
    b"3gp4 3gp5 3gp6 3gp7 3gr6 3gs6 3g2a cmfc CAEP nvr1".replace(b"\x20 ", b"_ ").split()
) | {b"M4V "}
_QUICKTIME = b"qt  "
_UNKNOWN_32, _UNKNOWN_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Box:
    kind: bytes
    start: int
    #: Where its contents begin and end.
    body: int
    end: int


@dataclass
class _Track:
    handler: bytes = b""
    width: int = 0
    height: int = 0
    turned: bool = False
    duration_seconds: float | None = None
    sample_entry: tuple[int, int] | None = None


@dataclass
class _Film:
    """What the walk gathers."""

    file: Ranges
    boxes: int = 0
    kinds: set[bytes] = field(default_factory=set)
    tracks: list[_Track] = field(default_factory=list)
    duration_seconds: float | None = None
    patches: list[Patch] = field(default_factory=list)


def look(file: Ranges, mime_type: str) -> Video:
    """Raises Refused."""
    film = _Film(file)
    for box in _boxes(film, 0, file.size):
        if box.kind not in _TOP:
            raise Refused("Something else is hidden in the file.")
        if not film.kinds and box.kind == b"ftyp":
            _check_brand(file, box, mime_type)
        elif not film.kinds and mime_type != "video/quicktime":
            raise Refused("The film is malformed.")
        film.kinds.add(box.kind)
        _strip(film, box)
        if box.kind == b"moov":
            _moov(film, box)
    if b"moov" not in film.kinds or not film.kinds & {b"mdat", b"moof"}:
        raise Refused("The film is cut off.")
    shown = next((track for track in film.tracks if track.handler == b"vide"), None)
    if shown is None or shown.sample_entry is None:
        raise Refused("The file has no picture track.")
    width, height = (shown.width, shown.height) if shown.width and shown.height else shown.sample_entry
    if shown.turned:
        width, height = height, width
    lasts = film.duration_seconds or max((it.duration_seconds or 0 for it in film.tracks), default=0)
    return Video(width or None, height or None, round(lasts, 3) or None, film.patches)


def _boxes(film: _Film, start: int, end: int) -> Iterator[Box]:
    """The boxes between two places, which they have to fill."""
    while start < end:
        film.boxes += 1
        if film.boxes > _MAX_BOXES or start + 8 > end:
            raise Refused("The film is malformed.")
        size, kind = struct.unpack(">I4s", film.file.read(start, 8))
        body = start + 8
        if size == 1:
            (size,) = struct.unpack(">Q", film.file.read(body, 8))
            body += 8
        elif size == 0:
            size = film.file.size - start  # to the end of the file; only the last box may say so
        if size < body - start:
            raise Refused("The film is malformed.")
        if start + size > end:
            raise Refused("The film is cut off.")
        yield Box(kind, start, body, start + size)
        start += size


def _children(film: _Film, box: Box, **readers: Callable[[Box], None]) -> None:
    for child in _boxes(film, box.body, box.end):
        if child.kind in _REFUSED:
            raise Refused("The film is not in the file itself.")
        if reader := readers.get(child.kind.decode("latin-1")):
            reader(child)


def _check_brand(file: Ranges, box: Box, mime_type: str) -> None:
    said = file.read(box.body, min(box.end - box.body, 1024))
    major, others = said[:4], {said[at : at + 4] for at in range(8, len(said), 4)}
    if mime_type == "video/mp4" and (major == _QUICKTIME or not _BRANDS & {major, *others}):
        raise Refused("The bytes are not video/mp4.")
    if mime_type == "video/quicktime" and not (_BRANDS | {_QUICKTIME}) & {major, *others}:
        raise Refused("The bytes are not video/quicktime.")


def _strip(film: _Film, box: Box) -> None:
    """Metadata (places, names, XMP) is to go; padding too, where something stands in it."""
    length = box.end - box.body
    if box.kind in _METADATA:
        film.patches.append(Patch(box.start + 4, 4, b"free"))
        if length:
            film.patches.append(Patch(box.body, length))
    elif (
        box.kind in _PADDING
        and length
        and (length > _MAX_METADATA_READ or any(film.file.read(box.body, length)))
    ):
        film.patches.append(Patch(box.body, length))


def _moov(film: _Film, box: Box) -> None:
    if film.tracks:
        raise Refused("The film is malformed.")

    def header(child: Box) -> None:
        film.duration_seconds = _duration(film.file, child)

    def track(child: Box) -> None:
        film.tracks.append(_track(film, child))

    def fragments(child: Box) -> None:
        _children(film, child, mehd=fragments_header)

    def fragments_header(child: Box) -> None:
        """Of no use without the movie's time scale; such films tell no duration."""

    for child in _boxes(film, box.body, box.end):
        _strip(film, child)
    _children(film, box, mvhd=header, trak=track, mvex=fragments)


def _track(film: _Film, box: Box) -> _Track:
    track, file = _Track(), film.file

    def header(child: Box) -> None:
        version = file.read(child.body, 1)[0]
        matrix = child.body + (52 if version else 40)
        a, b, _, c, d, *_, width, height = struct.unpack(">11i", file.read(matrix, 44))
        track.turned = a == 0 and d == 0 and b != 0 and c != 0
        track.width, track.height = width >> 16, height >> 16

    def media(child: Box) -> None:
        _children(film, child, hdlr=handler, mdhd=media_header, minf=information)

    def handler(child: Box) -> None:
        track.handler = file.read(child.body + 8, 4)

    def media_header(child: Box) -> None:
        track.duration_seconds = _duration(file, child)

    def information(child: Box) -> None:
        _children(film, child, dinf=data_information, stbl=samples)

    def data_information(child: Box) -> None:
        _children(film, child, dref=references)

    def references(child: Box) -> None:
        for entry in _boxes(film, child.body + 8, child.end):
            if not file.read(entry.body + 3, 1)[0] & 1:
                raise Refused("The film is not in the file itself.")

    def samples(child: Box) -> None:
        _children(film, child, stsd=descriptions)

    def descriptions(child: Box) -> None:
        if track.handler != b"vide":
            return
        for entry in _boxes(film, child.body + 8, child.end):
            track.sample_entry = struct.unpack(">HH", file.read(entry.body + 24, 4))
            return

    for child in _boxes(film, box.body, box.end):
        _strip(film, child)
    _children(film, box, tkhd=header, mdia=media)
    return track


def _duration(file: Ranges, box: Box) -> float | None:
    """Of a movie or media header, in seconds."""
    if file.read(box.body, 1)[0]:
        scale, duration = struct.unpack(">IQ", file.read(box.body + 20, 12))
        unknown = _UNKNOWN_64
    else:
        scale, duration = struct.unpack(">II", file.read(box.body + 12, 8))
        unknown = _UNKNOWN_32
    return duration / scale if scale and duration and duration != unknown else None
