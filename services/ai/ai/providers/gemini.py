"""Google's Gemini API: images and captions by generateContent, videos by Veo's long-running operations."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ai.providers.api_client import ApiClient, to_json
from ai.providers.base import (
    CAPTION_TOKENS,
    CAPTIONS,
    IMAGES,
    VIDEOS,
    Clip,
    GenerationFailed,
    Picture,
    Provider,
    refusal,
    shortened,
    whole_sentences_of,
)


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """The settings of Gemini. Model names as of autumn 2026 (ai.google.dev, models and deprecations)."""

    api_key: str = field(default="", repr=False)
    base_url: str = "https://generativelanguage.googleapis.com"
    flash_image_model: str = "gemini-3.1-flash-image"
    pro_image_model: str = "gemini-3-pro-image"
    video_model: str = "veo-3.1-generate-preview"
    text_model: str = "gemini-3.5-flash"


class _Blob(msgspec.Struct, frozen=True, rename="camel"):
    mime_type: str = ""
    data: bytes = b""


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    text: str | None = None
    inline_data: _Blob | None = None
    #: A draft of the model's thinking, not its answer.
    thought: bool = False


class _Content(msgspec.Struct, frozen=True):
    parts: list[_Part] = []


class _Candidate(msgspec.Struct, frozen=True, rename="camel"):
    content: _Content | None = None
    finish_reason: str = ""


class _Feedback(msgspec.Struct, frozen=True, rename="camel"):
    block_reason: str = ""


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None

    @property
    def parts(self) -> list[_Part]:
        contents = [candidate.content for candidate in self.candidates if candidate.content]
        return [part for content in contents for part in content.parts if not part.thought]


class _Video(msgspec.Struct, frozen=True):
    uri: str = ""


class _Sample(msgspec.Struct, frozen=True):
    video: _Video | None = None


class _Videos(msgspec.Struct, frozen=True, rename="camel"):
    generated_samples: list[_Sample] = []
    rai_media_filtered_reasons: list[str] = []


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    generate_video_response: _Videos | None = None


class _Problem(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""
    status: str = ""
    details: list[dict[str, Any]] = []


class _Operation(msgspec.Struct, frozen=True):
    name: str = ""
    done: bool = False
    response: _Response | None = None
    error: _Problem | None = None


class _Failure(msgspec.Struct, frozen=True):
    error: _Problem = _Problem()


class Gemini(Provider):
    """The provider that calls the Gemini API with a key of Google AI Studio."""

    name = "gemini"
    offers = frozenset({IMAGES, VIDEOS, CAPTIONS})

    def __init__(self, settings: GeminiSettings) -> None:
        self._settings = settings
        self._client = ApiClient(settings.base_url, {"x-goog-api-key": settings.api_key}, error_of)

    def image(
        self,
        prompt: str,
        *,
        aspect_ratio: str | None,
        model: str,
        references: Sequence[Picture],
        deadline: float,
    ) -> Picture:
        config: dict[str, Any] = {"responseModalities": ["IMAGE"]}
        if aspect_ratio:
            config["imageConfig"] = {"aspectRatio": aspect_ratio}
        parts = [{"text": prompt}, *({"inline_data": _blob(picture)} for picture in references)]
        body = {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}
        name = self._settings.pro_image_model if model == "pro" else self._settings.flash_image_model
        answer = self._generate(name, body, deadline)
        for part in answer.parts:
            if part.inline_data is not None and part.inline_data.data:
                return Picture(part.inline_data.data, part.inline_data.mime_type)
        raise _no_result(answer)

    def start_video(
        self, prompt: str, *, aspect_ratio: str | None, image: Picture | None, deadline: float
    ) -> str:
        instance: dict[str, Any] = {"prompt": prompt}
        if image is not None:
            instance["image"] = {"bytesBase64Encoded": image.body, "mimeType": image.mime_type}
        parameters = {"aspectRatio": aspect_ratio} if aspect_ratio else {}
        body = to_json({"instances": [instance], "parameters": parameters})
        path = f"/v1beta/models/{self._settings.video_model}:predictLongRunning"
        operation = self._client.post(path, body, _Operation, deadline=deadline)
        if not operation.name:
            raise GenerationFailed("The AI provider did not start the video.")
        return operation.name

    def poll_video(self, operation: str, *, deadline: float) -> str | None:
        found = self._client.get(f"/v1beta/{operation}", _Operation, deadline=deadline)
        if not found.done:
            return None
        if found.error is not None:
            raise GenerationFailed(
                shortened(found.error.message) or "The AI provider could not make the video."
            )
        videos = (found.response.generate_video_response if found.response else None) or _Videos()
        for sample in videos.generated_samples:
            if sample.video is not None and sample.video.uri:
                return sample.video.uri
        raise GenerationFailed(
            shortened(" ".join(videos.rai_media_filtered_reasons)) or "The AI provider returned no video."
        )

    def fetch_video(self, address: str, *, deadline: float) -> AbstractContextManager[Clip]:
        return self._client.stream(address, deadline=deadline)

    def caption(self, brief: str, turns: Sequence[str], *, deadline: float) -> str:
        contents = [
            {"role": "model" if number % 2 else "user", "parts": [{"text": turn}]}
            for number, turn in enumerate(turns)
        ]
        body = {
            "systemInstruction": {"parts": [{"text": brief}]},
            "contents": contents,
            "generationConfig": {"maxOutputTokens": CAPTION_TOKENS},
        }
        answer = self._generate(self._settings.text_model, body, deadline)
        text = "".join(part.text for part in answer.parts if part.text)
        if any(candidate.finish_reason == "MAX_TOKENS" for candidate in answer.candidates):
            return whole_sentences_of(text)
        if not text.strip():
            raise _no_result(answer)
        return text

    def _generate(self, model: str, body: dict[str, Any], deadline: float) -> _Answer:
        path = f"/v1beta/models/{model}:generateContent"
        return self._client.post(path, to_json(body), _Answer, deadline=deadline)


def error_of(status: int, body: bytes) -> GenerationFailed:
    """Builds the error for Gemini's answer with this HTTP status and body. For a 429 with a RetryInfo, the error says
    when a retry may succeed.
    """
    try:
        problem = msgspec.json.decode(body, type=_Failure).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        problem = _Problem()
    if any(row.get("reason") == "API_KEY_INVALID" for row in problem.details):
        status = 401
    return refusal(status, shortened(problem.message), wait_seconds=_retry_delay(problem))


def _retry_delay(problem: _Problem) -> float | None:
    for detail in problem.details:
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            try:
                return float(str(detail.get("retryDelay")).removesuffix("s"))
            except ValueError:
                return None
    return None


def _no_result(answer: _Answer) -> GenerationFailed:
    """Returns the error for an answer without a result. Most such answers are blocked for safety."""
    blocked = answer.prompt_feedback.block_reason if answer.prompt_feedback else ""
    reasons = [blocked, *(candidate.finish_reason for candidate in answer.candidates)]
    why = next((reason for reason in reasons if reason and reason != "STOP"), "")
    said = shortened(" ".join(part.text for part in answer.parts if part.text))
    if why:
        return GenerationFailed(
            f"The AI provider declined the request ({why})." + (f" {said}" if said else "")
        )
    return GenerationFailed(said or "The AI provider returned nothing.")


def _blob(picture: Picture) -> dict[str, Any]:
    return {"mime_type": picture.mime_type, "data": picture.body}
