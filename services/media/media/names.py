"""Makes file names: as displayed, and as parts of addresses. Pure."""

import re
import secrets
import string
import unicodedata
from pathlib import PurePosixPath

#: 22 of 62 characters are 131 random bits: nobody can guess an address.
KEY_LENGTH = 22
_KEY = re.compile(rf"[0-9A-Za-z]{{{KEY_LENGTH}}}")
#: Of names in addresses, and of displayed ones. Our choice; file systems allow 255 bytes.
_SLUG_STEM_LENGTH, _SHOWN_LENGTH = 100, 255


def new_key() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(KEY_LENGTH))


def is_key(value: str) -> bool:
    return _KEY.fullmatch(value) is not None


def shown_name(filename: str) -> str:
    """Returns the file name as it is displayed: without folders, control and direction characters, and not too long."""
    last = re.split(r"[/\\]", filename)[-1]
    kept = "".join(character for character in last if unicodedata.category(character)[0] != "C").strip()
    if len(kept) > _SHOWN_LENGTH:
        ending = PurePosixPath(kept).suffix[:_SHOWN_LENGTH]
        kept = kept[: _SHOWN_LENGTH - len(ending)] + ending
    return kept


def ending(filename: str) -> str:
    """Returns the file name's extension in lower case, with its dot; empty if it has none."""
    return PurePosixPath(shown_name(filename)).suffix.lower()


def slug(filename: str, extension: str) -> str:
    """Returns the file name for the public address, in ASCII, with this extension. Latin letters stay readable."""
    shown = PurePosixPath(shown_name(filename))
    plain = unicodedata.normalize("NFKD", shown.stem).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", plain).strip("-")[:_SLUG_STEM_LENGTH].strip("-")
    return (stem or "file") + extension


def rendition_slug(of: str, extension: str) -> str:
    """Returns a new name for a rendition of the file `of`. No other object of that file has the name."""
    return f"{PurePosixPath(of).stem}-{secrets.token_hex(4)}{extension}"


def kind(mime_type: str) -> str:
    """Returns photo or video (spec "Media": type)."""
    return "photo" if mime_type.startswith("image/") else "video"
