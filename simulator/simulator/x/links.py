"""Finds links in a text as the npm package twitter-text 3.1.0 does (`extractUrlsWithIndices`).

A host name is matched as long as possible, then shortened label by label until it ends in a top-level domain.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.x.domains import TOP_LEVEL

_MARKS = r"\u202A-\u202E\u061C\u200E\u200F\u2066-\u2069"
_NONE = r"\uFFFE\uFEFF\uFFFF"
_BLANKS = r"\x09-\x0D \x85\xA0\u1680\u180E\u2000-\u200A\u2028\u2029\u202F\u205F\u3000"
_CHAR = rf"[^\-_.!'#%&()*+,\\/:;<=>?@\[\]^{{|}}~${_BLANKS}{_NONE}{_MARKS}]"
_NAME = rf"{_CHAR}(?:[_-]*{_CHAR})*+"
_START = re.compile(
    rf"(?P<before>[^A-Za-z0-9@＠$#＃{_NONE}]|^)(?P<scheme>(?i:https?)://)?(?P<host>{_NAME}(?:\.{_NAME})+)",
    re.DOTALL,
)
_ACCENTS = (
    r"\xC0-\xD6\xD8-\xF6\xF8-\u024F\u0253\u0254\u0256\u0257\u0259\u025B\u0263\u0268\u026F\u0272\u0289\u028B\u02BB"
    r"\u0300-\u036F\u1E00-\u1EFF"
)
_G = rf"[A-Za-z\u0400-\u04FF0-9!*';:=+,.$/%#\[\]\-\u2013_~@|&{_ACCENTS}]"
_PARENS = rf"\((?:{_G}+|{_G}*\({_G}+\){_G}*)\)"
_PATH = rf"/(?:{_G}*(?:{_PARENS}{_G}*)*(?:[+\-A-Za-z\u0400-\u04FF0-9=_#/{_ACCENTS}]|{_PARENS})|@{_G}+/)*"
_QUERY = r"(?:\?[A-Za-z0-9!?*'@();:&=+$/%#\[\]\-_.,~|]*[A-Za-z0-9\-_&=#/])?"
_TAIL = re.compile(rf"(?::[0-9]+)?({_PATH})?{_QUERY}")
_TCO = re.compile(rf"(?i:https?://t\.co)/([A-Za-z0-9]+){_QUERY}")
_LATIN_HOST = re.compile(rf"(?:[-A-Za-z0-9{_ACCENTS}]+\.)+")
_XN = re.compile(r"(?i:xn--)[-0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a text: the index of its first character, and its length in characters."""

    start: int
    length: int


def find(text: str) -> Iterator[Link]:
    at = 0
    while match := _START.search(text, at):
        host = match.start("host")
        end = _end_of_name(text, host, match.end("host"))
        if end is None:
            # The match takes the first character for the one before a link; it may be the link's first character.
            at = match.start() + 1
            if match.start() == 0 and match["before"] and (first := _START.match("\n" + text)):
                whole = _end_of_name(text, 0, first.end("host") - 1) if not first["scheme"] else None
                if whole is not None:
                    yield from _links(text, "", "", 0, whole)
                    at = _tail(text, whole).end()
            continue
        yield from _links(text, match["before"], match["scheme"] or "", host, end)
        at = _tail(text, end).end()


def _tail(text: str, end: int) -> re.Match[str]:
    tail = _TAIL.match(text, end)
    assert tail is not None
    return tail


def _links(text: str, before: str, scheme: str, host: int, end: int) -> Iterator[Link]:
    tail, name = _tail(text, end), text[host:end]
    start = host - len(scheme)
    url = text[start : tail.end()]
    if len(url) + len(scheme or "https://") > 4_096 or any(
        _ascii_length(part) > 63 for part in name.split(".")
    ):
        return
    latin = list(_latin(name))
    if name.startswith("xn--") and not latin:
        return
    if scheme:
        short = _TCO.match(url)
        if short is None or len(short[1]) <= 40:
            yield Link(start, short.end() if short else len(url))
    elif before not in tuple("-_./"):
        for number, (first, length) in enumerate(latin, 1):
            more = len(url) - len(name) if tail[1] and number == len(latin) else 0
            yield Link(host + first, length + more)


def _latin(name: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := _LATIN_HOST.search(name, at):
        at = match.end()
        for dot in range(match.end() - 1, match.start(), -1):
            end = _after_top_level(name, dot + 1) if name[dot] == "." else None
            if end is not None:
                yield match.start(), end - match.start()
                at = end
                break


def _end_of_name(text: str, start: int, end: int) -> int | None:
    """Returns the end of the longest host name that begins at `start` and ends in a top-level domain; None if there is
    none.

    The label before the top-level domain must not contain an underscore.
    """
    while (dot := text.rfind(".", start, end)) > 0:
        found = _after_top_level(text, dot + 1)
        if found is not None and "_" not in text[start:dot].rpartition(".")[2]:
            return found
        end = dot
    return None


def _after_top_level(text: str, at: int) -> int | None:
    word = text[at : at + 30]
    for length in range(len(word), 1, -1):
        rest = text[at + length : at + length + 1]
        if word[:length].lower() in TOP_LEVEL and not re.match(r"[0-9a-zA-Z@+-]", rest):
            return at + length
    found = _XN.match(text, at)
    return found.end() if found else None


def _ascii_length(label: str) -> int:
    return len(label) if label.isascii() else len(label.encode("punycode")) + len("xn--")
