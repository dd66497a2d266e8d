"""Counts the length of a text as X does, and undoes X's changes of texts. Pure."""

import html
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from publishing.platforms.post_matching import similar_text
from publishing.platforms.x import links

#: twitter-text 3.1.0, `config/v3.json`: every link counts as X's short one, these letters 1, every other letter and
#: each emoji 2.
_LINK_WEIGHT = 23
_LIGHT = ((0x0000, 0x10FF), (0x2000, 0x200D), (0x2010, 0x201F), (0x2032, 0x2037))
_PICTURE = "[\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff](?:\ufe0f|[\U0001f3fb-\U0001f3ff])?"
#: Matches one emoji of any number of characters: a flag, a key cap, or joined and coloured pictures. It matches their
#: form, because a list would have to follow every release of Unicode.
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[0-9#*]\ufe0f?\u20e3"
    "|[\u00a9\u00ae\u203c\u2049\u2122\u2139]\ufe0f"
    f"|{_PICTURE}[\U000e0020-\U000e007f]*(?:\u200d{_PICTURE})*"
)


def weighted_length(text: str) -> int:
    """Returns the length of a text as X counts it."""
    text, count, at = unicodedata.normalize("NFC", text), 0, 0
    for link in links.find(text):
        if link.start >= at:
            count += _plain_length(text[at : link.start]) + _LINK_WEIGHT
            at = link.start + link.length
    return count + _plain_length(text[at:])


def _plain_length(text: str) -> int:
    """Returns the length, as X counts it, of a text that contains no links."""
    text, emojis = _EMOJI.subn("", text)
    return 2 * emojis + sum(1 if any(low <= ord(c) <= high for low, high in _LIGHT) else 2 for c in text)


def shown_text(post: Mapping[str, Any]) -> str:
    """Returns a post's text as people see it.

    It has real links in place of t.co links, no links to the post's own media, and `&` in place of `&amp;`.
    """
    # A long post's `text` is cut off; the whole one has entities of its own.
    whole = post.get("note_tweet") or post.get("note_post") or post
    text = str(whole.get("text") or "")
    for url in (whole.get("entities") or {}).get("urls") or ():
        shown = "" if url.get("media_key") else str(url.get("expanded_url") or url.get("url"))
        text = text.replace(str(url.get("url")), shown)
    return html.unescape(text).strip()


def is_same(ours: str, post: Mapping[str, Any]) -> bool:
    """Whether a post has our text. The form of links, and mentions that X puts before a reply, do not matter."""
    return similar_text(ours, shown_text(post))
