"""Reads the parts of a request to Gemini as Google's servers do: both spellings of a field's name (camelCase and
snake_case) are accepted, unknown fields are refused. Also decodes pictures.
"""

import base64
import binascii
import re
from typing import Any

from simulator import inspection
from simulator.gemini.errors import GeminiError, invalid

#: Texts in a prompt that make the provider refuse the prompt, or withhold the result.
UNSAFE_PROMPT, UNSAFE_RESULT = "[unsafe]", "[unsafe result]"

#: Media types that Gemini reads; GIF is not one of them.
_PICTURE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_UNDERSCORE = re.compile(r"_([a-z])")


def camel(value: Any) -> Any:
    """Returns the JSON value with every name in lowerCamelCase: protobuf accepts lowerCamelCase and snake_case."""
    if isinstance(value, dict):
        return {_UNDERSCORE.sub(lambda m: m[1].upper(), name): camel(item) for name, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


def only_known(value: Any, names: frozenset[str], where: str = "") -> dict[str, Any]:
    """Returns `value`. Raises GeminiError if it is not an object, or has a field that is not in `names`. `where` is
    its path in the request, for the error's message.
    """
    if not isinstance(value, dict):
        raise invalid(f"Invalid value at '{where or 'body'}'")
    for name in value:
        if name not in names:
            place = f" at '{where}'" if where else ""
            raise invalid(f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.')
    return value


def number(holder: dict[str, Any], name: str) -> int | None:
    """Returns a field as an integer, or None if it is missing. A string is accepted, because protobuf writes 64-bit
    integers so. Raises GeminiError for any other value.
    """
    value = holder.get(name)
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        raise invalid(f"Invalid value at '{name}' (TYPE_INT32), {value!r}") from None


def picture(data: Any, mime_type: Any) -> bytes:
    """Decodes a base64 picture. Raises GeminiError if it is invalid or has a media type that Gemini does not read."""
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
