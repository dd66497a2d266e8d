"""Writes captions that have the requested number of words: some words of the request, then stock sentences.

The requested number is the one before "words" in the instructions (the system prompt), such as "about 60 words". If the
instructions name none, the request's text is searched in the same way. If several are named, the last one counts.
Without any, a caption has 60 words.
"""

import hashlib
import itertools
import re
from dataclasses import dataclass

#: Number of words if the request names none, the default of the service `ai` (spec, "AI generation").
DEFAULT_WORDS = 60
#: Estimated tokens of one word, for requests with a limit of tokens. Our choice.
_TOKENS_PER_WORD = 1.5
_ASKED = re.compile(r"(\d{1,4})[ -]*words?\b", re.IGNORECASE)
#: Characters of scripts without spaces between words. Each counts as a word, as in word processors.
_IDEOGRAPH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\s{_IDEOGRAPH}]*[^\W_{_IDEOGRAPH}][^\s{_IDEOGRAPH}]*")
_TOPIC_WORDS, _TOPIC_LETTERS = 8, 100

_OPENINGS = ("Here it is: {}.", "Good news: {}.", "Have you seen it? {}.", "Today it is all about this: {}.")
_SENTENCES = (
    "We have been looking forward to sharing this with you.",
    "Every detail was chosen with care and a little patience.",
    "Come by, take a look and tell us what you think.",
    "Small steps every day add up to something we are proud of.",
    "It started as an idea on a napkin and grew from there.",
    "Thank you to everyone who asked, waited and cheered us on.",
    "Bring a friend along, because good things are better shared.",
    "There is always a story behind the things we make.",
    "We kept what works and left out what does not.",
    "Save this post for later, you will want to come back.",
    "Ask us anything in the comments, we read every one of them.",
    "More of this is on its way, so stay close.",
)
#: Sentences of 1 to 11 words, one of each length, so that a caption has exactly the requested number of words.
_ENDINGS = (
    "Enjoy!",
    "See you!",
    "See you soon!",
    "Come and say hello.",
    "We cannot wait for you.",
    "Tell us what you think below.",
    "Come and see it all for yourself.",
    "Come and see it with your own eyes.",
    "Come in and see it with your own eyes.",
    "Come in today and see it with your own eyes.",
    "Come in today and see it all with your own eyes.",
)


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption. `cut` tells whether the limit of tokens cut it short."""

    text: str
    cut: bool


def words_asked(instructions: str, request: str) -> int:
    """Returns the number of words that the instructions or the request ask for; 60 if neither names a number."""
    for text in (instructions, request):
        if found := _ASKED.findall(text):
            return max(1, int(found[-1]))
    return DEFAULT_WORDS


def write(instructions: str, request: str, limit_tokens: int | None = None) -> Caption:
    """Returns a caption of the requested length; equal arguments give equal captions. A caption over `limit_tokens` is
    cut short.
    """
    text = _text(request, words_asked(instructions, request))
    words = text.split()
    room = len(words) if limit_tokens is None else int(limit_tokens / _TOKENS_PER_WORD)
    return Caption(text, False) if room >= len(words) else Caption(" ".join(words[:room]), True)


def _text(request: str, wanted: int) -> str:
    turn = hashlib.sha256(request.encode("utf-8", "replace")).digest()[0]
    opening = _OPENINGS[turn % len(_OPENINGS)]
    topic = _beginning(_ASKED.sub("", request), max(1, min(_TOPIC_WORDS, wanted - count(opening))))
    parts = [opening.format(topic or "new")]
    missing = wanted - count(parts[0])
    for number in range(wanted):
        sentence = _SENTENCES[(turn + number) % len(_SENTENCES)]
        if count(sentence) > missing:
            break
        parts.append(sentence)
        missing -= count(sentence)
    if 0 < missing <= len(_ENDINGS):
        parts.append(_ENDINGS[missing - 1])
    return " ".join(parts)


def count(text: str) -> int:
    """Returns the number of words in a text."""
    return sum(1 for _ in _WORD.finditer(text))


def _beginning(text: str, words: int) -> str:
    """Returns the first words of a text, on one line."""
    text = " ".join(text.split())
    found = list(itertools.islice(_WORD.finditer(text), words))
    return text[: found[-1].end()].strip(" .,:;!?")[:_TOPIC_LETTERS] if found else ""
