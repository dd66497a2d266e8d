"""Decides which type a file has, from what a client declares and from its first bytes. Pure."""

import re

from contracts.errors import INVALID_FILE_CONTENT, UPLOAD_ERROR, ApiError
from contracts.media import CONVERTED_TYPES, MIME_TYPES

#: How many bytes `true_type` looks at: `ftyp` with its first dozen brands.
HEAD_BYTES = 64
#: Stands for "not declared" in the database.
UNDECLARED = "application/octet-stream"
#: What clients send that do not know the type.
_VAGUE = ("", UNDECLARED, "binary/octet-stream", "image/*", "video/*", "*/*")
_ACCEPTED = {**MIME_TYPES, **CONVERTED_TYPES}
#: Other names of accepted types: those of browsers, phones and older programs.
_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "image/apng": "image/png",
    "image/heif": "image/heic",
    "video/x-m4v": "video/mp4",
}
#: Extensions of the types that the spec refuses by name.
_REFUSED_ENDINGS = (".svg", ".svgz", ".html", ".htm", ".xhtml", ".pdf", ".zip", ".swf")
_SIGNATURES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("video/webm", re.compile(rb"\x1a\x45\xdf\xa3")),
    # Files from before 2001 begin without `ftyp`.
    ("video/quicktime", re.compile(rb"....(ftypqt  |moov|mdat|wide|free|skip|pnot)", re.DOTALL)),
)
_HEIF_BRANDS = frozenset((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"))
_AVIF_BRANDS = frozenset((b"avif", b"avis", b"avio"))
#: Those by which a file is a picture also if it names another brand first, such as that of a camera's maker.
_PICTURES = _AVIF_BRANDS | {b"heic", b"heix", b"heim", b"heis"}
#: How the main brands of MP4 begin. Such a file is a video, whatever else it names.
_MP4_BRANDS = (b"iso", b"mp4", b"M4V")
_TAKEN = "Export it as JPEG, PNG, GIF, WebP, MP4, MOV or WebM, and upload that."


def check_declared(ending: str, mime_type: str) -> str:
    """Returns the type that the client declares, under its registered name; UNDECLARED if it declares none, or
    `image/*`. Raises UPLOAD_ERROR for a type that is not accepted, and for an `ending` that the spec refuses by name.
    """
    declared = mime_type.partition(";")[0].strip().lower()
    declared = UNDECLARED if declared in _VAGUE else _ALIASES.get(declared, declared)
    if declared != UNDECLARED and declared not in _ACCEPTED:
        message = f"Files of the type {declared[:100]} are not accepted. {_TAKEN}"
        raise ApiError(UPLOAD_ERROR, message, allowed=sorted(_ACCEPTED))
    if ending in _REFUSED_ENDINGS:
        raise ApiError(UPLOAD_ERROR, f"Files named {ending} are not accepted. {_TAKEN}")
    return declared


def ending_of(declared: str, ending: str) -> str:
    """Returns the extension for the public address: the file name's `ending` if it fits the declared type, otherwise
    that type's usual one. It is `.jpg` for types that are converted, and may be empty for UNDECLARED.
    """
    if declared == UNDECLARED:
        declared = next((mime_type for mime_type, endings in _ACCEPTED.items() if ending in endings), "")
    kept = MIME_TYPES.get(declared, (".jpg",) if declared else ("",))
    return ending if ending in kept else kept[0]


def true_type(declared: str, head: bytes) -> str:
    """Returns the type of a file that begins with `head`. Raises INVALID_FILE_CONTENT if it is not accepted, or not the
    one declared (spec "Upload rules"). MP4 and MOV declared for each other are MOV; JPEG may be declared HEIC or AVIF.
    """
    found = _detect(head)
    if found is None:
        message = f"The file is not a picture or video that can be posted. {_TAKEN}"
        raise ApiError(INVALID_FILE_CONTENT, message)
    if declared in (UNDECLARED, found):
        return found
    if {declared, found} == {"video/mp4", "video/quicktime"}:
        return "video/quicktime"  # cameras and programs mix them up; this one may hold every codec
    # Phones convert HEIC to JPEG when they hand it over, and some keep its name.
    if declared in CONVERTED_TYPES and (found in CONVERTED_TYPES or found == "image/jpeg"):
        return found
    said, real = (f"{_ACCEPTED[it][0]} ({it})" for it in (declared, found))
    rename = f"Rename it to end in {_ACCEPTED[found][0]}, and upload it again."
    message = f"The file says that it is {said}, but inside it is {real}. {rename}"
    raise ApiError(INVALID_FILE_CONTENT, message)


def _detect(head: bytes) -> str | None:
    found = next((mime_type for mime_type, signature in _SIGNATURES if signature.match(head)), None)
    if found is not None or head[4:8] != b"ftyp":
        return found
    end = min(int.from_bytes(head[:4], "big"), len(head))
    brands = {head[at : at + 4] for at in (8, *range(16, end, 4))}
    if head[8:11] in _MP4_BRANDS or not (brands & _PICTURES or head[8:12] in _HEIF_BRANDS):
        return "video/mp4"
    return "image/avif" if brands & _AVIF_BRANDS else "image/heic"
