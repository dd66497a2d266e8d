"""Gemini and OpenAI, both played by the simulator."""

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from ai_kit.scripted_server import ScriptedServer, replying
from ai_kit.simulator import Simulator

from ai.providers import gemini, openai
from ai.providers.base import GenerationFailed, Picture, Provider
from ai.providers.gemini import Gemini, GeminiSettings
from ai.providers.openai import OpenAi, OpenAiSettings
from ai.providers.registry import Providers
from ai.rules.file_types import detect_mime_type
from chassis.config import ConfigError


@pytest.fixture(params=["gemini", "openai"])
def provider(request: Any, simulator: Simulator) -> Provider:
    if request.param == "gemini":
        return Gemini(GeminiSettings(api_key="local-gemini-key", base_url=simulator.url))
    return OpenAi(OpenAiSettings(api_key="local-openai-key", base_url=simulator.url))


@pytest.fixture
def films(simulator: Simulator) -> Gemini:
    return Gemini(GeminiSettings(api_key="local-gemini-key", base_url=simulator.url))


def soon(seconds: float = 30.0) -> float:
    return time.monotonic() + seconds


def image(provider: Provider, prompt: str = "A red boat", **options: Any) -> Picture:
    given = {"aspect_ratio": None, "model": "flash", "references": (), "deadline": soon()} | options
    return provider.image(prompt, **given)


@pytest.mark.parametrize(("model", "ratio"), [("flash", None), ("pro", "16:9"), ("flash", "3:4")])
def test_an_image_is_made(provider: Provider, simulator: Simulator, model: str, ratio: str | None) -> None:
    picture = image(provider, model=model, aspect_ratio=ratio)
    assert detect_mime_type(picture.body) == picture.mime_type
    [work] = simulator.works()
    assert (work["operation"], work["prompt"], work["references"]) == ("image", "A red boat", 0)
    assert ("pro" in work["model"] or work["model"] == "gpt-image-2") == (model == "pro")


def test_references_go_with_the_prompt(provider: Provider, simulator: Simulator) -> None:
    first, second = image(provider), image(provider, "A blue one", model="pro")
    image(provider, "Both", references=(first, second))
    assert simulator.works()[-1]["references"] == 2


@pytest.mark.parametrize("kind", [Gemini, OpenAi])
def test_references_take_twice_their_memory_during_a_provider_call(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call takes up to a minute and many run at once, so the images must not take more."""
    size_bytes = 3 * 2**20
    settings = {Gemini: GeminiSettings, OpenAi: OpenAiSettings}[kind](api_key="x", base_url="http://nowhere")
    provider = kind(settings)
    held: list[int] = []

    def post(*_: Any, **__: Any) -> None:
        held.append(tracemalloc.get_traced_memory()[0])
        raise GenerationFailed("Enough.")

    monkeypatch.setattr(provider._client, "post", post)
    pictures = tuple(Picture(bytes(size_bytes), "image/png") for _ in range(3))
    tracemalloc.start()
    try:
        with pytest.raises(GenerationFailed, match="Enough"):
            image(provider, references=pictures)
    finally:
        tracemalloc.stop()
    # In base64 they are a third larger, and msgspec allocates half as much again.
    assert held[0] < 2.1 * 3 * size_bytes


def test_an_image_is_edited(provider: Provider, simulator: Simulator) -> None:
    edited = image(provider, "Make it blue", references=(image(provider),))
    assert detect_mime_type(edited.body) == edited.mime_type
    assert (simulator.works()[-1]["operation"], simulator.works()[-1]["references"]) == ("edit", 1)


def test_a_caption_is_written_and_can_be_rewritten(provider: Provider) -> None:
    text = provider.caption("Length: 40 words.", ("Write about boats",), deadline=soon())
    assert len(text.split()) == 40
    turns = ("Write about boats", text, "Write it again")
    assert provider.caption("Length: 20 words.", turns, deadline=soon())


@pytest.mark.parametrize("mode", ["reject", "server_error", "drop_after_accept", "expired"])
def test_a_fault_is_a_failure_and_nothing_is_generated_twice(
    provider: Provider, simulator: Simulator, mode: str
) -> None:
    simulator.fault("image", mode, provider=provider.name)
    with pytest.raises(GenerationFailed) as failure:
        image(provider)
    assert "key" not in failure.value.reason.lower()
    assert len(simulator.works()) == (mode == "drop_after_accept")


def test_a_rate_limit_is_waited_for_as_long_as_the_provider_says(
    provider: Provider, simulator: Simulator
) -> None:
    simulator.fault("image", "rate_limit", provider=provider.name)
    began = time.monotonic()
    image(provider)
    assert time.monotonic() - began >= 1
    assert len(simulator.works()) == 1


@pytest.mark.parametrize("prompt", ["A boat [unsafe]", "A boat [unsafe result]"])
def test_a_declined_image_says_so(provider: Provider, prompt: str) -> None:
    with pytest.raises(GenerationFailed, match="declined") as failure:
        image(provider, prompt)
    assert not failure.value.transient


def test_a_caption_has_a_token_limit(server: ScriptedServer) -> None:
    server.script = [replying(500)]
    for provider in (
        Gemini(GeminiSettings(api_key="x", base_url=server.url)),
        OpenAi(OpenAiSettings(api_key="x", base_url=server.url)),
    ):
        with pytest.raises(GenerationFailed):
            provider.caption("Length: 40 words.", ("Write about boats",), deadline=soon())
    asked = [json.loads(body) for _, _, _, body in server.asked]
    assert asked[0]["generationConfig"]["maxOutputTokens"] == asked[1]["max_completion_tokens"] == 8_192


@pytest.mark.parametrize(
    ("written", "whole"),
    [("One boat. Two bo", "One boat."), ("One boat.", "One boat."), ("One bo", None), ("", None)],
)
def test_a_caption_that_was_cut_off_ends_with_its_last_whole_sentence(
    server: ScriptedServer, written: str, whole: str | None
) -> None:
    candidate = {"content": {"parts": [{"text": written}]}, "finishReason": "MAX_TOKENS"}
    choice = {"message": {"content": written}, "finish_reason": "length"}
    answers = (
        (Gemini(GeminiSettings(api_key="x", base_url=server.url)), {"candidates": [candidate]}),
        (OpenAi(OpenAiSettings(api_key="x", base_url=server.url)), {"choices": [choice]}),
    )
    for provider, answer in answers:
        server.script = [replying(200, json.dumps(answer).encode())]
        if whole is None:
            with pytest.raises(GenerationFailed, match="no complete sentence"):
                provider.caption("Length: 40 words.", ("Write about boats",), deadline=soon())
        else:
            assert provider.caption("Length: 40 words.", ("Write",), deadline=soon()) == whole


def test_a_declined_caption_says_so(provider: Provider) -> None:
    with pytest.raises(GenerationFailed, match="declined"):
        provider.caption("Length: 40 words.", ("Write [unsafe]",), deadline=soon())


def test_a_wrong_key_is_not_shown_to_the_client(simulator: Simulator) -> None:
    for provider in (
        Gemini(GeminiSettings(api_key="wrong", base_url=simulator.url)),
        OpenAi(OpenAiSettings(api_key="wrong", base_url=simulator.url)),
    ):
        with pytest.raises(GenerationFailed) as failure:
            image(provider)
        assert failure.value.reason == "The AI provider rejected our credentials."


def finished(films: Gemini, operation: str) -> str:
    until = soon()
    while (address := films.poll_video(operation, deadline=soon())) is None:
        assert time.monotonic() < until
        time.sleep(0.05)
    return address


def test_a_video_is_started_polled_and_fetched(films: Gemini, simulator: Simulator) -> None:
    picture = image(films)
    operation = films.start_video("Waves", aspect_ratio="9:16", image=picture, deadline=soon())
    with films.fetch_video(finished(films, operation), deadline=soon()) as clip:
        body = b"".join(clip.chunks)
    assert clip.size_bytes in (None, len(body))
    assert detect_mime_type(body) == "video/mp4"
    assert simulator.works()[-1]["operation"] == "video"


@pytest.mark.parametrize("prompt", ["Waves [unsafe]", "Waves [unsafe result]"])
def test_a_declined_video_is_final(films: Gemini, prompt: str) -> None:
    operation = films.start_video(prompt, aspect_ratio=None, image=None, deadline=soon())
    with pytest.raises(GenerationFailed) as failure:
        finished(films, operation)
    assert not failure.value.transient
    assert len(failure.value.reason) > 20


def test_a_failed_poll_may_be_repeated(films: Gemini, simulator: Simulator) -> None:
    operation = films.start_video("Waves", aspect_ratio=None, image=None, deadline=soon())
    simulator.fault("status", "server_error")
    with pytest.raises(GenerationFailed) as failure:
        films.poll_video(operation, deadline=soon())
    assert failure.value.transient
    assert finished(films, operation)


@pytest.mark.parametrize(
    ("error_of", "status", "body", "reason"),
    [
        (gemini.error_of, 400, b'{"error": {"message": "Bad\\n prompt"}}', "Bad prompt"),
        (gemini.error_of, 500, b"<html>", "The AI provider failed."),
        (gemini.error_of, 404, b"", "The AI provider refused the request."),
        (openai.error_of, 400, b'{"error": {"message": "Odd size"}}', "Odd size"),
        (
            openai.error_of,
            400,
            b'{"error": {"code": "moderation_blocked"}}',
            "The AI provider declined the request.",
        ),
        (openai.error_of, 503, b'{"error": null}', "The AI provider failed."),
        (
            openai.error_of,
            429,
            b'{"error": {"code": "insufficient_quota"}}',
            "The AI provider is overloaded.",
        ),
    ],
)
def test_errors_become_sentences(
    error_of: Callable[[int, bytes], GenerationFailed], status: int, body: bytes, reason: str
) -> None:
    assert error_of(status, body).reason == reason


def test_a_retry_delay_is_read_whatever_it_says() -> None:
    template = '{"error": {"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "%s"}]}}'
    waits = [
        gemini.error_of(429, (template % delay).encode()).wait_seconds for delay in ("17s", "1.5s", "soon")
    ]
    assert waits == [17.0, 1.5, None]


def test_providers_are_chosen_by_name_and_by_key() -> None:
    keys = (GeminiSettings(api_key="x"), OpenAiSettings(api_key="y"))
    chosen = Providers(*keys, {"captions": "openai"})
    names = [getattr(chosen.find(work), "name", None) for work in ("images", "videos", "captions")]
    assert names == ["gemini", "gemini", "openai"]
    only_openai = Providers(GeminiSettings(), OpenAiSettings(api_key="y"), {})
    assert only_openai.find("videos") is None
    for wrong in ({"videos": "openai"}, {"images": "nobody"}):
        with pytest.raises(ConfigError):
            Providers(*keys, wrong)
    with pytest.raises(ConfigError):
        Providers(GeminiSettings(), OpenAiSettings(), {"images": "gemini"})
