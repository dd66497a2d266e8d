"""OpenAI's API and compatible ones: images, edits and captions. It makes no videos."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import urllib3

from ai.providers.api_client import ApiClient, to_json
from ai.providers.base import (
    CAPTION_TOKENS,
    CAPTIONS,
    IMAGES,
    GenerationFailed,
    Picture,
    Provider,
    refusal,
    shortened,
    whole_sentences_of,
)
from ai.rules.file_types import detect_mime_type
from chassis.service import offload

#: The sizes nearest to the spec's ratios. Without one the model chooses.
_SIZES = {
    "1:1": "1024x1024",
    "16:9": "1536x1024",
    "4:3": "1536x1024",
    "9:16": "1024x1536",
    "3:4": "1024x1536",
}
#: Error codes of content that is refused.
_DECLINED = frozenset({"content_policy_violation", "moderation_blocked", "content_filter"})


@dataclass(frozen=True, slots=True)
class OpenAiSettings:
    """The settings of OpenAI. Model names as of autumn 2026."""

    api_key: str = field(default="", repr=False)
    base_url: str = "https://api.openai.com"
    flash_image_model: str = "gpt-image-1-mini"
    pro_image_model: str = "gpt-image-2"
    text_model: str = "gpt-5-mini"


class _Image(msgspec.Struct, frozen=True):
    b64_json: bytes | None = None


class _Images(msgspec.Struct, frozen=True):
    data: list[_Image] = []


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message = _Message()
    finish_reason: str | None = None


class _Chat(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []


class _Problem(msgspec.Struct, frozen=True):
    message: str | None = None
    code: str | int | None = None


class _Failure(msgspec.Struct, frozen=True):
    error: _Problem = _Problem()


class OpenAi(Provider):
    """The provider that calls OpenAI's API with a bearer key."""

    name = "openai"
    offers = frozenset({IMAGES, CAPTIONS})

    def __init__(self, settings: OpenAiSettings) -> None:
        self._settings = settings
        self._client = ApiClient(settings.base_url, {"Authorization": f"Bearer {settings.api_key}"}, error_of)

    def image(
        self,
        prompt: str,
        *,
        aspect_ratio: str | None,
        model: str,
        references: Sequence[Picture],
        deadline: float,
    ) -> Picture:
        fields = self._fields(prompt, model)
        if aspect_ratio in _SIZES:
            fields["size"] = _SIZES[aspect_ratio]
        if references:
            return self._edit(fields, references, deadline)
        answer = self._client.post("/v1/images/generations", to_json(fields), _Images, deadline=deadline)
        return _picture(answer)

    def caption(self, brief: str, turns: Sequence[str], *, deadline: float) -> str:
        messages = [{"role": "system", "content": brief}] + [
            {"role": "assistant" if number % 2 else "user", "content": turn}
            for number, turn in enumerate(turns)
        ]
        body = {
            "model": self._settings.text_model,
            "messages": messages,
            "max_completion_tokens": CAPTION_TOKENS,
        }
        answer = self._client.post("/v1/chat/completions", to_json(body), _Chat, deadline=deadline)
        choice = answer.choices[0] if answer.choices else _Choice()
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise GenerationFailed(
                f"The AI provider declined the request. {shortened(choice.message.refusal)}".strip()
            )
        text = choice.message.content or ""
        if choice.finish_reason == "length":
            return whole_sentences_of(text)
        if not text.strip():
            raise GenerationFailed("The AI provider returned no text.")
        return text

    def _fields(self, prompt: str, model: str) -> dict[str, Any]:
        name = self._settings.pro_image_model if model == "pro" else self._settings.flash_image_model
        fields: dict[str, Any] = {"model": name, "prompt": prompt, "n": 1}
        if not name.startswith("gpt-image"):  # these always answer base64 and refuse the field
            fields["response_format"] = "b64_json"
        return fields

    def _edit(self, fields: dict[str, Any], pictures: Sequence[Picture], deadline: float) -> Picture:
        name = "image" if len(pictures) == 1 else "image[]"
        files = [
            (name, (f"{number}.{picture.mime_type.split('/')[1]}", picture.body, picture.mime_type))
            for number, picture in enumerate(pictures, 1)
        ]
        form = [(key, str(value)) for key, value in fields.items()] + files
        body, content_type = offload(urllib3.encode_multipart_formdata, form)
        answer = self._client.post(
            "/v1/images/edits", body, _Images, deadline=deadline, content_type=content_type
        )
        return _picture(answer)


def error_of(status: int, body: bytes) -> GenerationFailed:
    """Builds the error for OpenAI's answer with this HTTP status and body."""
    try:
        problem = msgspec.json.decode(body, type=_Failure).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        problem = _Problem()
    declined = "The AI provider declined the request. " if problem.code in _DECLINED else ""
    return refusal(status, f"{declined}{shortened(problem.message)}".strip())


def _picture(answer: _Images) -> Picture:
    body = answer.data[0].b64_json if answer.data else None
    mime_type = detect_mime_type(body or b"")
    if body is None or mime_type is None:
        raise GenerationFailed("The AI provider returned no image.")
    return Picture(body, mime_type)
