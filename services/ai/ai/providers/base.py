"""What the service asks of an AI provider and what it may answer: the interface every provider has.

No provider's manners are here, no HTTP, and nothing is stored. A provider never repeats a call that makes something
unless its own answer says when to come again.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from ai.rules import caption_text

#: What a provider may be able to do; the settings choose one for each.
IMAGES, VIDEOS, CAPTIONS = "images", "videos", "captions"
#: What a caption's answer has at most, thinking included; 300 words are some 500, in dense scripts more. Our choice.
CAPTION_TOKENS = 8_192


class GenerationFailed(Exception):
    """Nothing was made. `reason` is for the client: a sentence that names no key, address or internals."""

    def __init__(self, reason: str, *, transient: bool = False, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        #: The provider could not be asked, or failed: to look again (at a video on its way) may help.
        self.transient = transient
        #: The provider itself asks to come again after so long; only then is a call that makes something repeated.
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class Picture:
    """A JPEG, PNG or WebP."""

    body: bytes = field(repr=False)
    mime_type: str


@dataclass(frozen=True, slots=True)
class Clip:
    """A finished video as it comes in: never all in memory. `chunks` raises GenerationFailed."""

    #: As announced; None when the provider does not say.
    size_bytes: int | None
    chunks: Iterator[bytes]


def cut_short(text: str) -> str:
    """What a caption is good for that came to its limit: its whole sentences. Raises GenerationFailed."""
    if not (whole := caption_text.whole_sentences(text)):
        raise GenerationFailed("The AI provider did not come to the end of a sentence.")
    return whole


class Provider:
    """One AI API. Every method raises GenerationFailed and ends by `deadline` (of `time.monotonic`)."""

    name = ""
    #: Which of the groups below it has.
    offers: frozenset[str] = frozenset()

    def image(
        self,
        prompt: str,
        *,
        aspect_ratio: str | None,
        model: str,
        references: Sequence[Picture],
        deadline: float,
    ) -> Picture:
        """`model` is flash or pro; `aspect_ratio` like 16:9, None: the provider's own."""
        raise NotImplementedError

    def edit(self, prompt: str, source: Picture, *, model: str, deadline: float) -> Picture:
        raise NotImplementedError

    def start_video(
        self, prompt: str, *, aspect_ratio: str | None, image: Picture | None, deadline: float
    ) -> str:
        """Begins a video; the provider's name for what runs now."""
        raise NotImplementedError

    def poll_video(self, operation: str, *, deadline: float) -> str | None:
        """Where the finished video lies; None while it is being made. A failure that is not transient is final."""
        raise NotImplementedError

    def fetch_video(self, address: str, *, deadline: float) -> AbstractContextManager[Clip]:
        """What `poll_video` named."""
        raise NotImplementedError

    def caption(self, brief: str, turns: Sequence[str], *, deadline: float) -> str:
        """`brief`: who writes, how and for whom. `turns`: what we ask, what was answered, what we ask then …"""
        raise NotImplementedError
