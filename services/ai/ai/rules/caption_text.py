"""How many words a text has, and making one fit. Pure."""

import re
from bisect import bisect_right

#: decisions allow what the issue asks: a caption's words within a fifth of those asked for.
TOLERANCE_PERCENT = 20
#: Scripts written without blanks: each of their characters counts as a word, as in word processors. Our choice.
_IDEOGRAPH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
#: A word: one such character, or a run of anything else without blanks that has a letter or digit in it. Found up to
#: that letter, where it begins to count, and looked for from the run's first character alone: a long run of signs would
#: be gone through from each of its own. So is a run of stops below.
_WORD = re.compile(rf"[{_IDEOGRAPH}]|(?<![^\s{_IDEOGRAPH}])[^\s{_IDEOGRAPH}]*?[^\W_{_IDEOGRAPH}]")
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)|[。！？]+[」』]?|\n")
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'"}


def count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def bounds(words: int) -> tuple[int, int]:
    """The fewest and most that pass for `words`."""
    return -(-words * (100 - TOLERANCE_PERCENT) // 100), words * (100 + TOLERANCE_PERCENT) // 100


def fits(text: str, words: int) -> bool:
    low, high = bounds(words)
    return low <= count(text) <= high


def tidied(text: str) -> str:
    """Without what models put around a text: code fences, quotation marks around all of it."""
    text = text.replace("\0", "").strip()
    if (fenced := _FENCE.match(text)) is not None:
        text = fenced[1].strip()
    closing = _QUOTES.get(text[:1])
    if closing is not None and len(text) > 2 and text.endswith(closing) and closing not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def whole_sentences(text: str) -> str:
    """Without what was begun after the last sentence's end; empty when no sentence ends."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[: ends[-1]].rstrip() if ends else ""


def cut_to_fit(text: str, words: int) -> str | None:
    """The text itself, or its longest beginning of whole sentences that fits; None when there is none.

    Goes through the text once, however long it is: this is done on the event loop.
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
