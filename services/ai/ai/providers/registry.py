"""Chooses the AI provider for each kind of work."""

from collections.abc import Mapping

from ai.providers.base import CAPTIONS, IMAGES, VIDEOS, Provider
from ai.providers.gemini import Gemini, GeminiSettings
from ai.providers.openai import OpenAi, OpenAiSettings
from chassis.config import ConfigError


class Providers:
    """The AI provider for each kind of work (images, videos, captions); one object per API."""

    def __init__(self, gemini: GeminiSettings, openai: OpenAiSettings, chosen: Mapping[str, str]) -> None:
        """Chooses a provider for each kind of work, by its name in `chosen`.

        If the name is empty, chooses the first provider that has a key and offers the work. Raises ConfigError for a
        name that is unknown, has no key, or does not offer the work.
        """
        has_key: dict[str, Provider] = {}
        if gemini.api_key:
            has_key[Gemini.name] = Gemini(gemini)
        if openai.api_key:
            has_key[OpenAi.name] = OpenAi(openai)
        self._by_work = {
            work: _choose(has_key, work, chosen.get(work, "")) for work in (IMAGES, VIDEOS, CAPTIONS)
        }

    def find(self, work: str) -> Provider | None:
        """Returns the provider for this kind of work; None when this deployment has none."""
        return self._by_work[work]


def _choose(has_key: dict[str, Provider], work: str, name: str) -> Provider | None:
    if not name:
        return next((provider for provider in has_key.values() if work in provider.offers), None)
    if name not in has_key:
        raise ConfigError(f"the AI provider {name!r} for {work} is unknown or has no API key")
    if work not in has_key[name].offers:
        raise ConfigError(f"the AI provider {name!r} does not offer {work}")
    return has_key[name]
