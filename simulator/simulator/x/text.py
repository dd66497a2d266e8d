"""Computes the length of a text on X, and the text that X shows: URLs become t.co links, `&` becomes `&amp;`."""

import hashlib
import html
import re
import unicodedata
from typing import Any

from simulator.x import links

#: Largest weighted length of a post: twitter-text 3.1.0, `config/v3.json` (`maxWeightedTweetLength`,
#: `transformedURLLength`, `ranges`; the npm package, read 23 November 2026). With X Premium: help.x.com, "About X
#: Premium".
LIMIT, LONG_LIMIT = 280, 25_000
_URL_WEIGHT = 23
_PICTURE = "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_COLOURED = f"{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff]?[\U000e0020-\U000e007f]*"
_EMOJI = re.compile(
    f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_COLOURED}(?:\u200d{_COLOURED})+|{_COLOURED}"
)
_SINGLE_RANGES = ((0, 4351), (8192, 8205), (8208, 8223), (8242, 8247))


def weight(text: str) -> int:
    """Returns the weighted length of a text, which X compares with its limit: a link counts 23, an emoji or a CJK
    character 2.
    """
    text = unicodedata.normalize("NFC", text)
    count, at = 0, 0
    for link in links.find(text):
        if link.start >= at:
            count += _weight_of_words(text[at : link.start]) + _URL_WEIGHT
            at = link.start + link.length
    return count + _weight_of_words(text[at:])


def _weight_of_words(text: str) -> int:
    found = _EMOJI.findall(text)
    # A single sign such as © without an emoji modifier counts as a letter.
    pictures = sum(1 if len(one) == 1 and _is_single(one) else 2 for one in found)
    return pictures + sum(1 if _is_single(letter) else 2 for letter in _EMOJI.sub("", text))


def _is_single(letter: str) -> bool:
    return any(first <= ord(letter) <= last for first, last in _SINGLE_RANGES)


def shown(text: str, permalink: str, media_keys: list[str]) -> tuple[str, list[dict[str, Any]]]:
    """Returns the text that the API shows, and its links (`entities.urls`). A post with media gets a link to the post
    at the end.
    """
    parts, urls, at = [], [], 0
    for link in links.find(text):
        if link.start < at:
            continue
        parts.append(html.escape(text[at : link.start], quote=False))
        at = link.start + link.length
        address = text[link.start : at]
        urls.append(_link(parts, address if "://" in address else f"http://{address}"))
    parts.append(html.escape(text[at:], quote=False))
    if media_keys:
        parts.append(" " if text else "")
        urls += [{**_link(parts, f"{permalink}/photo/1"), "media_key": key} for key in media_keys[:1]]
    return "".join(parts), urls


def _link(parts: list[str], expanded: str) -> dict[str, Any]:
    short = "https://t.co/" + hashlib.sha256(expanded.encode("utf-8", "replace")).hexdigest()[:10]
    start = sum(map(len, parts))
    parts.append(short)
    display = expanded.partition("://")[2]
    return {
        "start": start,
        "end": start + len(short),
        "url": short,
        "expanded_url": expanded,
        "display_url": display,
    }
