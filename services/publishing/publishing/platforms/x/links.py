"""Finds the links in a text, by the rules of twitter-text 3.1.0. X replaces each by a t.co link of fixed length. Pure.

A link begins after a character that cannot be part of a domain name. Without a scheme it must be a domain name in Latin
letters, in a known top-level domain. The time needed depends on the text's length, not on what the text contains.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from publishing.platforms.x import top_level_domains

_LATIN = (
    "a-zA-Z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0253\u0254\u0256\u0257\u0259\u025b\u0263\u0268\u026f\u0272\u0289"
    "\u028b\u02bb\u0300-\u036f\u1e00-\u1eff"
)
#: Marks that set the direction of writing; two noncharacters and the byte order mark.
_DIRECTIONS = "\u202a-\u202e\u061c\u200e\u200f\u2066-\u2069"
_FORBIDDEN = "\ufffe\ufeff\uffff"
_SPACES = "\u0009-\u000d\u0020\u0085\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
#: Whatever is no sign, space or mark may be in a domain; hyphens and underscores may not begin or end a label.
_IN_DOMAIN = rf"[^!'#%&()*+,\\\-./:;<=>?@\[\]^_{{|}}~${_SPACES}{_FORBIDDEN}{_DIRECTIONS}]"
_LABEL = re.compile(rf"{_IN_DOMAIN}+(?:[-_]+{_IN_DOMAIN}+)*")
_MAY_PRECEDE = re.compile(rf"[^A-Za-z0-9@＠$#＃{_FORBIDDEN}]")
_SCHEME = re.compile(r"https?://\Z", re.IGNORECASE)
_LONGEST_SCHEME = len("https://")
#: A name without a scheme is no link behind one of these.
_NO_LINK_AFTER = "-_./"

_ASCII_TLD = re.compile(r"[A-Za-z]++(?![0-9@+-])")
_UNICODE_TLD = re.compile(
    f"(?:{'|'.join(sorted(top_level_domains.UNICODE, reverse=True))})(?![0-9a-zA-Z@+-])", re.IGNORECASE
)
_PUNYCODE = re.compile(r"xn--[-0-9a-zA-Z]+", re.IGNORECASE)
_LATIN_LABELS = re.compile(rf"(?:[-{_LATIN}]+\.)+")

_IN_PATH = rf"[{_LATIN}\u0400-\u04ff!*';:=+,.$/%#\[\]\-\u2013_~@|&]"
#: Two levels of brackets, as in `/Primer_(film)`.
_BRACKETS = rf"\((?:{_IN_PATH}+|{_IN_PATH}*\({_IN_PATH}+\){_IN_PATH}*)\)"
_ENDS_PATH = rf"(?:[{_LATIN}\u0400-\u04ff+\-=_#/]|{_BRACKETS})"
_PATH = rf"(?:{_IN_PATH}*(?:{_BRACKETS}{_IN_PATH}*)*{_ENDS_PATH}|@{_IN_PATH}+/)*"
_QUERY = r"\?[a-zA-Z0-9!?*'@();:&=+$/%#\[\]\-_.,~|]*[a-zA-Z0-9\-_&=#/]"
_REST = re.compile(rf"(?::[0-9]+)?(?P<path>/{_PATH})?(?:{_QUERY})?")
_SHORT = re.compile(rf"https?://t\.co/(?P<slug>[a-z0-9]+)(?:{_QUERY})?", re.IGNORECASE)

_LONGEST_LABEL = 63
_LONGEST_URL = 4_096
_LONGEST_SLUG = 40


class Link(NamedTuple):
    """A link in a text: its position, and how many characters of the text it covers."""

    start: int
    length: int


class _Label(NamedTuple):
    """A label: one part of a domain name, between dots. The numbers are positions in the text."""

    start: int
    end: int
    #: The end of the top-level domain with which the label begins; None if it begins with none.
    tld_end: int | None


def find(text: str) -> Iterator[Link]:
    """Yields the links of a text, in order. The text must be in Unicode's normal form NFC."""
    if "." not in text:
        return
    labels = [_Label(found.start(), found.end(), _tld_end(text, found)) for found in _LABEL.finditer(text)]
    searched = 0
    for number, (label, later_end) in enumerate(zip(labels, _later_ends(text, labels), strict=True)):
        following = labels[number + 1] if number + 1 < len(labels) else None
        next_end = following.tld_end if following and _joined(text, label, following) else None
        if label.end <= searched or (later_end is None and next_end is None):
            continue
        # Its last label but one may hold no underscore, so a name may have to begin behind one.
        first = label.start if later_end else text.rfind("_", label.start, label.end) + 1 or label.start
        scheme = _SCHEME.search(text, max(searched, label.start - _LONGEST_SCHEME), label.start)
        start = scheme.start() if scheme and first == label.start else -1
        if not _may_start(text, start, searched):
            scheme, start = None, _first_start(text, first, label.end, searched)
        if start < 0:
            continue
        domain = slice(label.start if scheme else start, later_end or next_end)
        rest = _REST.match(text, domain.stop)
        assert rest is not None
        searched = rest.end()
        if _is_valid(text[start:searched], text[domain], scheme.group() if scheme else ""):
            yield from _with_scheme(text, start, searched) if scheme else _bare(text, domain, rest)


def _with_scheme(text: str, start: int, end: int) -> Iterator[Link]:
    """Yields a link that has a scheme. A t.co link ends after its short name and query."""
    short = _SHORT.match(text, start, end)
    if short is None:
        yield Link(start, end - start)
    elif len(short["slug"]) <= _LONGEST_SLUG:
        yield Link(start, short.end() - start)


def _bare(text: str, domain: slice, rest: re.Match[str]) -> Iterator[Link]:
    """Yields the links in a domain that is written without a scheme. X links only the parts of it that are Latin domain
    names (`_latin_names`), and there may be several. The last link also covers the path after the domain (`rest`).
    """
    if domain.start and text[domain.start - 1] in _NO_LINK_AFTER:
        return
    names = list(_latin_names(text[domain]))
    for name in names[:-1]:
        yield Link(domain.start + name.start, name.length)
    for name in names[-1:]:
        more = len(rest.group()) if rest["path"] else 0
        yield Link(domain.start + name.start, name.length + more)


def _latin_names(domain: str) -> Iterator[Link]:
    """Yields the names in a domain that consist of Latin letters and end in a top-level domain. In `例.example.com`,
    this is `example.com`."""
    at = 0
    while found := _LATIN_LABELS.search(domain, at):
        at = found.end()
        # The longest one: from the last dot backwards.
        for dot in range(found.end() - 1, found.start(), -1):
            end = _tld_end_at(domain, dot + 1) if domain[dot] == "." else None
            if end is not None:
                yield Link(found.start(), end - found.start())
                at = end
                break


def _is_valid(url: str, domain: str, scheme: str) -> bool:
    if domain.startswith("xn--") and not any(_latin_names(domain)):
        return False
    labels = (name if name.isascii() else f"xn--{_punycode(name)}" for name in domain.split("."))
    return len(scheme or "https://") + len(url) <= _LONGEST_URL and all(
        len(name) <= _LONGEST_LABEL for name in labels
    )


def _punycode(label: str) -> str:
    return label.encode("punycode").decode("ascii")


def _may_start(text: str, start: int, searched: int) -> bool:
    """Whether a link may begin at position `start`.

    It may begin at the start of the text. Elsewhere, the character before it must be one that may precede a link, and
    must not belong to an earlier link. `searched`: where the links found so far end.
    """
    return start == 0 or (start > searched and _MAY_PRECEDE.match(text, start - 1) is not None)


def _first_start(text: str, first: int, end: int, searched: int) -> int:
    """Returns the first position in text[first:end] at which a link without a scheme may begin; -1 if there is none.

    `searched`: where the last link found so far ends. The position must not lie before it.
    """
    # The text's first character counts as the one before the link, if a link can begin right after it.
    if first == 0 and end > 1 and _is_start(text, 1, searched):
        return 1
    return next((at for at in range(max(first, searched), end) if _is_start(text, at, searched)), -1)


def _is_start(text: str, at: int, searched: int) -> bool:
    return text[at] not in "-_" and _may_start(text, at, searched)


def _joined(text: str, label: _Label, following: _Label) -> bool:
    return following.start == label.end + 1 and text[label.end] == "."


def _later_ends(text: str, labels: list[_Label]) -> list[int | None]:
    """Returns for each label where the longest name ends that begins with this label and has at least three labels;
    None if there is no such name."""
    ends: list[int | None] = [None] * len(labels)
    for number in range(len(labels) - 3, -1, -1):
        label, second, third = labels[number : number + 3]
        if _joined(text, label, second):
            is_name = _joined(text, second, third) and "_" not in text[second.start : second.end]
            ends[number] = ends[number + 1] or (third.tld_end if is_name else None)
    return ends


def _tld_end(text: str, label: re.Match[str]) -> int | None:
    # A name has something before its top-level domain.
    is_second = label.start() > 0 and text[label.start() - 1] == "."
    return _tld_end_at(text, label.start()) if is_second else None


def _tld_end_at(text: str, at: int) -> int | None:
    """Returns the end of the top-level domain that begins at position `at`; None if there is none."""
    letters = _ASCII_TLD.match(text, at)
    if letters and letters.group().lower() in top_level_domains.ASCII:
        return letters.end()
    found = _UNICODE_TLD.match(text, at) or _PUNYCODE.match(text, at)
    return found.end() if found else None
