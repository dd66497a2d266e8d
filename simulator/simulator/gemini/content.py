"""The call `generateContent`: image models answer with a picture, text models with a caption."""

import base64
import secrets
from dataclasses import dataclass
from typing import Any

from simulator import inspection
from simulator.gemini.asked import UNSAFE_PROMPT, UNSAFE_RESULT, number, only_known, picture
from simulator.gemini.errors import invalid
from simulator.studio import captions, poster

#: Width and height in pixels at 1K. At 2K and 4K both are two and four times as long (ai.google.dev, "Image
#: generation").
SIZES = {
    "1:1": (1024, 1024), "2:3": (848, 1264), "3:2": (1264, 848), "3:4": (896, 1200), "4:3": (1200, 896),
    "4:5": (928, 1152), "5:4": (1152, 928), "9:16": (768, 1376), "16:9": (1376, 768), "21:9": (1584, 672),
}  # fmt: skip
_SCALES = {"1K": 1, "2K": 2, "4K": 4}
#: The number of tokens that the answer reports for one picture.
_PICTURE_TOKENS = 1290

_FIELDS = frozenset(
    ("contents", "systemInstruction", "generationConfig", "safetySettings", "tools", "toolConfig",
     "cachedContent", "model", "store", "serviceTier")
)  # fmt: skip
_CONFIG = frozenset(
    ("candidateCount", "stopSequences", "maxOutputTokens", "temperature", "topP", "topK", "seed",
     "responseModalities", "imageConfig", "responseMimeType", "responseSchema", "responseJsonSchema",
     "thinkingConfig", "mediaResolution", "speechConfig", "presencePenalty", "frequencyPenalty",
     "responseLogprobs", "logprobs", "enableEnhancedCivicAnswers")
)  # fmt: skip
_CONTENT = frozenset(("role", "parts"))
_IMAGE = frozenset(("aspectRatio", "imageSize"))


@dataclass(frozen=True, slots=True)
class Asked:
    """The checked fields of a request to generateContent."""

    prompt: str
    system: str
    pictures: tuple[bytes, ...]
    config: dict[str, Any]

    def size(self) -> tuple[int, int]:
        """Returns the width and height of the requested picture in pixels. Raises GeminiError for a size that Gemini
        does not have.

        If the request names no aspect ratio, takes the ratio nearest to that of the request's first picture. Without a
        picture takes a square.
        """
        wanted = only_known(self.config.get("imageConfig", {}), _IMAGE, "generation_config.image_config")
        ratio, scale = wanted.get("aspectRatio"), _SCALES.get(wanted.get("imageSize", "1K"))
        if ratio is None and self.pictures:
            aspect = inspection.photo(self.pictures[0]).aspect
            ratio = min(SIZES, key=lambda name: abs(SIZES[name][0] / SIZES[name][1] - aspect))
        if scale is None or (ratio is not None and ratio not in SIZES):
            raise invalid(
                f"aspect_ratio must be one of {', '.join(SIZES)}; image_size one of {', '.join(_SCALES)}"
            )
        width, height = SIZES[ratio or "1:1"]
        return width * scale, height * scale

    def modalities(self) -> set[str]:
        """Returns the requested kinds of output, such as IMAGE; an empty set if the request names none."""
        return {str(name).upper() for name in self.config.get("responseModalities") or ()}


def read(body: Any) -> Asked:
    """Checks the body of a request and returns its fields. Raises GeminiError if the request is invalid."""
    only_known(body, _FIELDS)
    contents = body.get("contents")
    if isinstance(contents, dict):
        contents = [contents]
    if not contents or not isinstance(contents, list):
        raise invalid("* GenerateContentRequest.contents: contents is not specified\n")
    config = only_known(body.get("generationConfig") or {}, _CONFIG, "generation_config")
    system = "".join(_parts(body["systemInstruction"])[0]) if body.get("systemInstruction") else ""
    turns = [(only_known(content, _CONTENT, "contents").get("role", "user"), content) for content in contents]
    asked = [_parts(content) for role, content in turns if role == "user"]
    if not asked:
        raise invalid("Please ensure that single turn requests end with a user role.")
    texts = [text for texts, _ in asked for text in texts]
    pictures = tuple(picture for _, pictures in asked for picture in pictures)
    return Asked("\n".join(texts), system, pictures, config)


def _parts(content: Any) -> tuple[list[str], list[bytes]]:
    parts = only_known(content, _CONTENT, "content").get("parts")
    if isinstance(parts, dict):
        parts = [parts]
    if not parts or not isinstance(parts, list):
        raise invalid("* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n")
    texts, pictures = [], []
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, dict) and isinstance(inline := part.get("inlineData"), dict):
            pictures.append(picture(inline.get("data"), inline.get("mimeType")))
        else:
            raise invalid("* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' "
                          "must have one initialized field\n")  # fmt: skip
    return texts, pictures


def blocked(asked: Asked) -> dict[str, Any] | None:
    """Returns a response without candidates, with which Gemini blocks the prompt. Returns None if it does not block the
    prompt.
    """
    if UNSAFE_PROMPT not in asked.prompt:
        return None
    return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **_usage(asked, 0)}


def unshown(asked: Asked) -> dict[str, Any]:
    """Returns the response that Gemini gives when it has made a picture but withholds it."""
    message = (
        "Unable to show the generated image. The image was filtered out because it violated Google's "
        "Generative AI Prohibited Use policy. Try rephrasing the prompt."
    )
    candidate = {"content": {}, "finishReason": "IMAGE_SAFETY", "finishMessage": message, "index": 0}
    return {"candidates": [candidate], **_usage(asked, 0)}


def make_picture(asked: Asked, model: str) -> tuple[dict[str, Any], int]:
    """Returns the response and the size of its picture in bytes (0 if it is withheld). Pro models return JPEG, others
    PNG.
    """
    if UNSAFE_RESULT in asked.prompt:
        return unshown(asked), 0
    kind = "JPEG" if "-pro-" in model else "PNG"
    data = poster.draw(asked.prompt, *asked.size(), asked.pictures, kind)
    inline = {"mimeType": f"image/{kind.lower()}", "data": base64.b64encode(data).decode()}
    parts: list[dict[str, Any]] = [{"inlineData": inline}]
    if asked.modalities() != {"IMAGE"}:
        parts.insert(0, {"text": "Here is the picture you asked for."})
    return _answer(asked, model, parts, "STOP", _PICTURE_TOKENS), len(data)


def write_caption(asked: Asked, model: str) -> tuple[dict[str, Any], int]:
    """Returns the response and the size of its caption in bytes. Raises GeminiError if a picture is requested."""
    if "IMAGE" in asked.modalities():
        raise invalid("Model does not support the requested response modalities: image,text")
    made = captions.write(asked.system, asked.prompt, number(asked.config, "maxOutputTokens"))
    reason = "MAX_TOKENS" if made.cut else "STOP"
    answer = _answer(asked, model, [{"text": made.text}], reason, len(made.text) // 4)
    return answer, len(made.text.encode("utf-8", "replace"))


def _answer(
    asked: Asked, model: str, parts: list[dict[str, Any]], reason: str, tokens: int
) -> dict[str, Any]:
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": reason, "index": 0}
    return {
        "candidates": [candidate], **_usage(asked, tokens), "modelVersion": model,
        "responseId": secrets.token_urlsafe(12),
    }  # fmt: skip


def _usage(asked: Asked, tokens: int) -> dict[str, Any]:
    prompt = (len(asked.prompt) + len(asked.system)) // 4 + 258 * len(asked.pictures)
    return {
        "usageMetadata": {
            "promptTokenCount": prompt,
            "candidatesTokenCount": tokens,
            "totalTokenCount": prompt + tokens,
        }
    }
