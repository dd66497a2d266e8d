"""The calls POST /v1/images/generations and /edits: checks a request and makes its pictures."""

import base64
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator import inspection
from simulator.openai import errors
from simulator.openai.errors import OpenAIError
from simulator.studio import poster

#: Texts in a prompt that make the provider refuse the prompt, or withhold the result.
UNSAFE_PROMPT, UNSAFE_RESULT = "[unsafe]", "[unsafe result]"

#: Matches every version of the models, because new ones appear every few months.
MODEL = re.compile(r"(gpt-image-[\d.]+|chatgpt-image)(-mini|-sunburst|-flare)?(-latest|-\d{4}-\d\d-\d\d)?")
#: The only sizes of gpt-image-1. Later models also make any size within the limits below.
_FIXED_SIZES = {"1024x1024": (1024, 1024), "1536x1024": (1536, 1024), "1024x1536": (1024, 1536)}
_PIXELS = range(655_360, 8_294_401)
_LONGEST_SIDE, _STEP, _STEEPEST = 3840, 16, 3

_FIELDS = frozenset(
    ("prompt", "model", "n", "size", "quality", "background", "moderation", "output_format",
     "output_compression", "partial_images", "stream", "user")
)  # fmt: skip
_EDIT_FIELDS = (_FIELDS - {"moderation"}) | {"input_fidelity"}
_QUALITIES = ("low", "medium", "high", "auto")
_FORMATS = {"png": "PNG", "jpeg": "JPEG", "webp": "WEBP"}
_MOST_AT_ONCE = 10
_MOST_PICTURES = 16
_MOST_LETTERS = 32_000
_PICTURE_BYTES = 50 << 20


@dataclass(frozen=True, slots=True)
class Asked:
    """The checked fields of a request for pictures."""

    prompt: str
    model: str
    count: int
    width: int
    height: int
    quality: str
    format: str
    pictures: tuple[bytes, ...]

    @property
    def operation(self) -> str:
        """The name of this request's operation: `edit` if the request contains pictures, otherwise `image`. Tests plan
        faults for it under this name, and `Works` records its pictures under it.
        """
        return "edit" if self.pictures else "image"


def read(fields: Mapping[str, Any], pictures: tuple[bytes, ...] | None = None) -> Asked:
    """Checks the fields of a request and returns them. `pictures` are those of an edit, None for a new picture. Raises
    OpenAIError if the request is invalid.
    """
    for name in fields:
        if name not in (_FIELDS if pictures is None else _EDIT_FIELDS):
            raise errors.unknown(name)
    prompt, model = fields.get("prompt"), fields.get("model")
    if not isinstance(prompt, str) or not prompt:
        raise errors.missing("prompt")
    if len(prompt) > _MOST_LETTERS:
        raise OpenAIError(400, f"Invalid 'prompt': string too long. Expected a string with maximum length "
                          f"{_MOST_LETTERS}.", "string_above_max_length", "prompt")  # fmt: skip
    if not isinstance(model, str):
        raise errors.missing("model")
    if not MODEL.fullmatch(model):
        raise errors.unknown_model(model)
    quality, kind = fields.get("quality", "auto"), fields.get("output_format", "png")
    if quality not in _QUALITIES:
        raise errors.invalid("quality", quality, ", ".join(_QUALITIES))
    if kind not in _FORMATS:
        raise errors.invalid("output_format", kind, ", ".join(_FORMATS))
    width, height = _size(str(fields.get("size", "auto")), model, pictures or ())
    return Asked(prompt, model, _count(fields.get("n", 1)), width, height, quality, kind, pictures or ())


def _count(value: Any) -> int:
    if not str(value).isdecimal() or not 1 <= int(value) <= _MOST_AT_ONCE:
        raise errors.invalid("n", value, f"1 to {_MOST_AT_ONCE}")
    return int(value)


def _size(value: str, model: str, pictures: tuple[bytes, ...]) -> tuple[int, int]:
    if value == "auto":
        aspect = inspection.photo(pictures[0]).aspect if pictures else 1.0
        return min(_FIXED_SIZES.values(), key=lambda size: abs(size[0] / size[1] - aspect))
    if value in _FIXED_SIZES:
        return _FIXED_SIZES[value]
    match = re.fullmatch(r"(\d{2,4})x(\d{2,4})", value)
    if match is None or model.startswith("gpt-image-1"):
        raise errors.invalid("size", value, ", ".join(f"'{size}'" for size in (*_FIXED_SIZES, "auto")))
    width, height = int(match[1]), int(match[2])
    if width % _STEP or height % _STEP:
        message = f"Invalid size '{value}'. Width and height must both be divisible by {_STEP}."
        raise OpenAIError(400, message, "invalid_value", "size")
    longer, shorter = max(width, height), min(width, height)
    if longer > _LONGEST_SIDE or longer > _STEEPEST * shorter or width * height not in _PIXELS:
        message = f"Invalid size '{value}'. Requested resolution is not within the supported bounds."
        raise OpenAIError(400, message, "invalid_value", "size")
    return width, height


def check_pictures(files: list[tuple[bytes, str]]) -> tuple[bytes, ...]:
    """Returns the pictures of an edit. `files` holds the bytes and the declared media type of each. Raises OpenAIError
    if there are none or too many, or if one is invalid.
    """
    if not files:
        raise errors.missing("image")
    if len(files) > _MOST_PICTURES:
        message = f"Invalid 'image': too many images. Expected at most {_MOST_PICTURES}."
        raise OpenAIError(400, message, "array_above_max_length", "image")
    for data, mime_type in files:
        if mime_type not in ("image/png", "image/jpeg", "image/webp"):
            raise OpenAIError(400, f"Invalid file 'image': unsupported mimetype ('{mime_type}'). Supported file "
                              "formats are 'image/jpeg', 'image/png', and 'image/webp'.",
                              "unsupported_file_mimetype", "image")  # fmt: skip
        try:
            inspection.photo(data)
        except inspection.NotMedia:
            message = "Invalid image file or mode for image 1, please check your image file."
            raise OpenAIError(400, message, "invalid_image_file", "image",
                              kind="image_generation_user_error") from None  # fmt: skip
        if len(data) > _PICTURE_BYTES:
            raise OpenAIError(400, "Invalid file 'image': file too large.", "file_too_large", "image")
    return tuple(data for data, _ in files)


def refuse_unsafe(asked: Asked) -> None:
    """Raises OpenAIError if the prompt contains `UNSAFE_PROMPT` or `UNSAFE_RESULT`."""
    if UNSAFE_PROMPT in asked.prompt or UNSAFE_RESULT in asked.prompt:
        raise errors.unsafe("input" if UNSAFE_PROMPT in asked.prompt else "output")


def make(asked: Asked) -> tuple[dict[str, Any], int]:
    """Returns the response with the requested number of equal pictures, and the size of one of them in bytes."""
    data = poster.draw(asked.prompt, asked.width, asked.height, asked.pictures, _FORMATS[asked.format])
    tokens = asked.count * asked.width * asked.height // 256
    prompt_tokens, picture_tokens = len(asked.prompt) // 4 + 1, 323 * len(asked.pictures)
    answer = {
        "created": int(time.time()),
        "background": "opaque",
        "data": [{"b64_json": base64.b64encode(data).decode()}] * asked.count,
        "output_format": asked.format,
        "quality": "low" if asked.quality == "auto" else asked.quality,
        "size": f"{asked.width}x{asked.height}",
        "usage": {
            "input_tokens": prompt_tokens + picture_tokens,
            "input_tokens_details": {"image_tokens": picture_tokens, "text_tokens": prompt_tokens},
            "output_tokens": tokens,
            "total_tokens": prompt_tokens + picture_tokens + tokens,
        },
    }
    return answer, len(data)
