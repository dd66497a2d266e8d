"""Reading what the caller sent: protobuf's JSON (both spellings of a name, nothing unknown), pictures, text."""

import base64
import binascii
import re
from typing import Any

from simulator import inspection
from simulator.gemini.errors import GeminiError, invalid

#: A prompt with one of these is refused: as it comes in, or by what came out of it.
UNSAFE_PROMPT, UNSAFE_RESULT = "[unsafe]", "[unsafe result]"

#: Pictures that Gemini reads (GIF is not among them).
_PICTURE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_UNDERSCORE = re.compile(r"_([a-z])")


def camel(value: Any) -> Any:
    """The same JSON with every name in lowerCamelCase, as protobuf takes either."""
    if isinstance(value, dict):
        return {_UNDERSCORE.sub(lambda m: m[1].upper(), name): camel(item) for name, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


def only_known(value: Any, names: frozenset[str], where: str = "") -> dict[str, Any]:
    """An object with none but these names. Raises GeminiError."""
    if not isinstance(value, dict):
        raise invalid(f"Invalid value at '{where or 'body'}'")
    for name in value:
        if name not in names:
            place = f" at '{where}'" if where else ""
            raise invalid(f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.')
    return value


def number(holder: dict[str, Any], name: str) -> int | None:
    """An integer that may come as text, as protobuf writes 64-bit ones; None when it is not there."""
    value = holder.get(name)
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        raise invalid(f"Invalid value at '{name}' (TYPE_INT32), {value!r}") from None


def picture(data: Any, mime_type: Any) -> bytes:
    """The bytes of a picture in base64. Raises GeminiError when it is none that Gemini reads."""
    if mime_type not in _PICTURE_TYPES:
        raise invalid(f"Unsupported MIME type: {mime_type}")
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise invalid("Invalid value (TYPE_BYTES), Base64 decoding failed") from None
    try:
        inspection.photo(content)
    except inspection.NotMedia:
        raise GeminiError(
            400,
            "Unable to process input image. Please retry or report in "
            "https://developers.generativeai.google/guide/troubleshooting",
        ) from None
    return content
