"""Counts words and cuts a text to a number of words. Pure."""

import re
from bisect import bisect_right

#: A caption's length is within a fifth of the requested number of words (docs/decisions.md).
TOLERANCE_PERCENT = 20
#: Scripts written without spaces: each character counts as a word, as in word processors.
_IDEOGRAPH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
#: A word is one such character, or a run of other characters without spaces that has a letter or digit. The match ends
#: at that letter, and starts only at the first character of the run: starting at each character would make long runs of
#: symbols quadratic. The same holds for runs of full stops below.
_WORD = re.compile(rf"[{_IDEOGRAPH}]|(?<![^\s{_IDEOGRAPH}])[^\s{_IDEOGRAPH}]*?[^\W_{_IDEOGRAPH}]")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)|[。！？]+[」』]?|\n")
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'"}


def count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def bounds(words: int) -> tuple[int, int]:
    """Returns the fewest and the most words that are accepted when `words` were requested."""
    return -(-words * (100 - TOLERANCE_PERCENT) // 100), words * (100 + TOLERANCE_PERCENT) // 100


def fits(text: str, words: int) -> bool:
    low, high = bounds(words)
    return low <= count(text) <= high


def tidied(text: str) -> str:
    """Removes what AI models put around a text: code fences, and quotation marks around all of it."""
    text = text.replace("\0", "").strip()
    if (fenced := _FENCE.match(text)) is not None:
        text = fenced[1].strip()
    closing = _QUOTES.get(text[:1])
    if closing is not None and len(text) > 2 and text.endswith(closing) and closing not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def whole_sentences(text: str) -> str:
    """Removes an unfinished last sentence. Returns an empty text when no sentence ends."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]].rstrip() if ends else ""


def cut_to_fit(text: str, words: int) -> str | None:
    """Returns the text if its number of words fits `words`. Otherwise returns its longest beginning of whole sentences
    that fits; None if nothing fits.

    Reads the text once, however long it is: this runs on the event loop.
    """
    low, high = bounds(words)
    begun = [match.end() for match in _WORD.finditer(text)]
    if low <= len(begun) <= high:
        return text
    longest = None
    for match in _SENTENCE_END.finditer(text):
        count_there = bisect_right(begun, match.end())
        if count_there > high:
            break
        if count_there >= low:
            longest = match.end()
    return None if longest is None else text[:longest].rstrip()
