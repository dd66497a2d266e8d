"""X's count of a text's length, and how X changes texts. Pure."""

import html
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from publishing.platforms.post_matching import similar_text

#: platforms.md 6: every URL counts as X's short link, plain letters count 1, everything else 2.
_URL_WEIGHT = 23
#: With a scheme, or a bare name in a common top-level domain (our choice). X knows all domains; a rarer one is counted
#: as text.
_URL = re.compile(
    r"https?://[^\s<>\"]+|(?<![\w@.-])(?:[a-z0-9-]+\.)+(?:com|net|org|info|biz|io|co|tv|app|dev|ai|me)\b(?:/[^\s<>\"]*)?",
    re.IGNORECASE,
)
#: One emoji of any number of characters: a flag, a key cap, or joined and coloured pictures.
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[0-9#*]\ufe0f?\u20e3"
    "|[\u00a9\u00ae\u203c\u2049\u2122\u2139]\ufe0f"
    "|[\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    "[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
    "(?:\u200d[\u2190-\u2bff\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*)*"
)
_LIGHT = ((0x0000, 0x10FF), (0x2000, 0x200D), (0x2010, 0x201F), (0x2032, 0x2037))


def weighted_length(text: str) -> int:
    """Returns the length of a text as X counts it."""
    text, urls = _URL.subn("", unicodedata.normalize("NFC", text))
    text, emojis = _EMOJI.subn("", text)
    letters = sum(1 if any(low <= ord(c) <= high for low, high in _LIGHT) else 2 for c in text)
    return letters + 2 * emojis + _URL_WEIGHT * urls


def shown_text(post: Mapping[str, Any]) -> str:
    """Returns a post's text as people see it: real links instead of t.co, no link of its media, `&amp;` decoded."""
    text = str(post.get("text") or "")
    for url in (post.get("entities") or {}).get("urls") or ():
        shown = "" if url.get("media_key") else str(url.get("expanded_url") or url.get("url"))
        text = text.replace(str(url.get("url")), shown)
    return html.unescape(text).strip()


def is_same(ours: str, post: Mapping[str, Any]) -> bool:
    """Whether a post has our text, except for the form of links and the mentions before a reply."""
    return similar_text(ours, shown_text(post))
