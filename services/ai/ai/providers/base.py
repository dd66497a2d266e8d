"""The interface of AI providers.

A call that generates something is sent again only in two cases: the API answered 503, or it said when to retry.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from ai.rules import caption_text

#: Kinds of work; the settings choose a provider for each.
IMAGES, VIDEOS, CAPTIONS = "images", "videos", "captions"
#: The most tokens of a caption's answer, thinking included. 300 words are some 500 tokens, more in dense scripts.
CAPTION_TOKENS = 8_192


class GenerationFailed(Exception):
    """Raised when a generation failed: the AI provider generated nothing, or its result is unusable or could not be
    stored. `reason` is shown to the client: a sentence without keys, addresses or internals.
    """

    def __init__(self, reason: str, *, transient: bool = False, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        #: The provider was unavailable or failed: polling a running video again may help.
        self.transient = transient
        #: The provider asks to retry after this time. Only then is a generating call repeated.
        self.wait_seconds = wait_seconds


def refusal(status: int, said: str, *, wait_seconds: float | None = None) -> GenerationFailed:
    """Returns the error for an answer with this HTTP status. `said` is the provider's own text; the client sees it only
    if the provider refused the request itself. `wait_seconds`: after how many seconds a retry may succeed; used for 429
    only.
    """
    if status in (401, 403):
        return GenerationFailed("The AI provider rejected our credentials.")
    if status == 429:
        return GenerationFailed("The AI provider is overloaded.", transient=True, wait_seconds=wait_seconds)
    if status >= 500:
        return GenerationFailed("The AI provider failed.", transient=True)
    return GenerationFailed(said or "The AI provider refused the request.")


def shortened(text: str | None) -> str:
    """Shortens the provider's text to fit the error of a job."""
    return " ".join((text or "").replace("\0", " ").split())[:300]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as JPEG, PNG or WebP."""

    body: bytes = field(repr=False)
    mime_type: str


@dataclass(frozen=True, slots=True)
class Clip:
    """A finished video as it arrives, never all in memory. Iterating `chunks` may raise GenerationFailed."""

    #: The announced size; None when the provider does not say.
    size_bytes: int | None
    chunks: Iterator[bytes]


def whole_sentences_of(text: str) -> str:
    """Returns the whole sentences of a caption that was cut off at its token limit. Raises GenerationFailed if there is
    no whole sentence.
    """
    if not (whole := caption_text.whole_sentences(text)):
        raise GenerationFailed("The AI provider returned no complete sentence.")
    return whole


class Provider:
    """An AI provider: one API that generates images, videos or captions. A subclass implements the methods for the
    kinds of work in `offers`. Each method ends by `deadline` (by `time.monotonic`), and may raise GenerationFailed.
    """

    name = ""
    #: The kinds of work that the provider offers.
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
        """Generates an image, or edits the image if there is exactly one in `references`.

        `model`: flash or pro. `aspect_ratio`: such as 16:9; None leaves it to the provider.
        """
        raise NotImplementedError

    def start_video(
        self, prompt: str, *, aspect_ratio: str | None, image: Picture | None, deadline: float
    ) -> str:
        """Starts a video and returns the provider's operation id."""
        raise NotImplementedError

    def poll_video(self, operation: str, *, deadline: float) -> str | None:
        """Returns the URL of the finished video, or None while it is being generated.

        Raises GenerationFailed. If that error is `transient`, poll again; otherwise the video has failed for good.
        """
        raise NotImplementedError

    def fetch_video(self, address: str, *, deadline: float) -> AbstractContextManager[Clip]:
        """Opens the finished video at the URL that `poll_video` returned."""
        raise NotImplementedError

    def caption(self, brief: str, turns: Sequence[str], *, deadline: float) -> str:
        """Writes a caption and returns it.

        `brief`: the system prompt. `turns`: the conversation so far, our requests and the model's answers alternating;
        the first and the last are requests.
        """
        raise NotImplementedError
