"""File names: as displayed, in addresses, and the extensions of each type. Pure."""

import re
import secrets
import string
import unicodedata
from pathlib import PurePosixPath

from contracts.errors import UPLOAD_ERROR, ApiError
from contracts.media import MIME_TYPES

#: 22 of 62 characters are 131 random bits: nobody can guess an address.
KEY_LENGTH = 22
_KEY_CHARACTERS = string.ascii_letters + string.digits
_KEY = re.compile(rf"[0-9A-Za-z]{{{KEY_LENGTH}}}")
#: Our choice; file systems allow 255 bytes.
_SLUG_STEM_LENGTH = 100
#: Our choice.
_SHOWN_LENGTH = 255


def new_key() -> str:
    return "".join(secrets.choice(_KEY_CHARACTERS) for _ in range(KEY_LENGTH))


def is_key(value: str) -> bool:
    return _KEY.fullmatch(value) is not None


def check_declared(filename: str, mime_type: str) -> str:
    """Returns the declared MIME type in lower case, without parameters.

    Raises UPLOAD_ERROR for a type that is not accepted, or an extension of another type.
    """
    declared = mime_type.partition(";")[0].strip().lower()
    if declared not in MIME_TYPES:
        shown = declared[:100] or "(none)"
        raise ApiError(UPLOAD_ERROR, f"The type {shown} is not accepted.", allowed=sorted(MIME_TYPES))
    endings = MIME_TYPES[declared]
    if PurePosixPath(shown_name(filename)).suffix.lower() not in endings:
        raise ApiError(
            UPLOAD_ERROR, f"The file name's extension is not one of {declared}.", endings=list(endings)
        )
    return declared


def shown_name(filename: str) -> str:
    """Returns the displayed name: no folders, no control or direction characters, at most 255 characters."""
    last = re.split(r"[/\\]", filename)[-1]
    kept = "".join(character for character in last if unicodedata.category(character)[0] != "C").strip()
    if len(kept) > _SHOWN_LENGTH:
        ending = PurePosixPath(kept).suffix[:_SHOWN_LENGTH]
        kept = kept[: _SHOWN_LENGTH - len(ending)] + ending
    return kept


def slug(filename: str) -> str:
    """Returns the name in the address: ASCII, readable where the name was Latin."""
    shown = PurePosixPath(shown_name(filename))
    plain = unicodedata.normalize("NFKD", shown.stem).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-")[:_SLUG_STEM_LENGTH].strip("-")
    return (stem or "file") + shown.suffix.lower()


def jpeg_slug(of: str) -> str:
    """Returns the name of an image's JPEG copy."""
    return PurePosixPath(of).stem + ".jpg"


def kind(mime_type: str) -> str:
    """Returns photo or video (spec "Media": type)."""
    return "photo" if mime_type.startswith("image/") else "video"
