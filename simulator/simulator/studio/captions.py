"""Captions by template: the request's own words between stock sentences, as many words as were asked for.

A prompt asks with a number: "about 60 words", "in 60 words". The instructions (system text) are looked at
first, the request after them.
"""

import hashlib
import re
from dataclasses import dataclass

#: Without a number (the service's own default; spec, "AI generation").
DEFAULT_WORDS = 60
#: Tokens of a word, roughly, when the caller limits the answer by tokens.
_TOKENS_PER_WORD = 1.5
_ASKED = re.compile(r"(\d{1,4})[ -]*words?\b", re.IGNORECASE)
_TOPIC_WORDS = 8

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
#: Sentences of 1 to 11 words, one of each, to end on the word.
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
    """The text, and whether the limit of tokens cut it short."""

    text: str
    cut: bool


def words_asked(instructions: str, request: str) -> int:
    """How many words are wanted."""
    for text in (instructions, request):
        if found := _ASKED.findall(text):
            return max(1, int(found[-1]))
    return DEFAULT_WORDS


def write(instructions: str, request: str, limit_tokens: int | None = None) -> Caption:
    """A caption on the request; the same request gets the same one."""
    count = words_asked(instructions, request)
    words = _words(request, count)
    room = count if limit_tokens is None else int(limit_tokens / _TOKENS_PER_WORD)
    return Caption(" ".join(words[:room]), room < len(words))


def _words(request: str, count: int) -> list[str]:
    turn = hashlib.sha256(request.encode("utf-8", "replace")).digest()[0]
    topic = " ".join(_ASKED.sub("", request).split()[:_TOPIC_WORDS]).strip(" .,:;!?") or "something new"
    words = _OPENINGS[turn % len(_OPENINGS)].format(topic).split()
    for number in range(count):
        sentence = _SENTENCES[(turn + number) % len(_SENTENCES)].split()
        if len(words) + len(sentence) > count:
            break
        words += sentence
    missing = count - len(words)
    if 0 < missing <= len(_ENDINGS):
        words += _ENDINGS[missing - 1].split()
    return words[:count]
