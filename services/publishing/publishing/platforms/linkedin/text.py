"""Encodes and decodes "little text", LinkedIn's format for the text of a post (`commentary`). Pure. Comments are plain
text.

LinkedIn silently cuts the text off at an unescaped reserved character (docs/platforms.md, section 4).
"""

import re

_RESERVED = re.compile(r"[\\|{}@\[\]()<>#*_~]")
#: A hashtag of letters and digits, with at least one letter; `C#`, `#1` and `#a_b` are plain text.
_HASHTAG = re.compile(r"(?<![\w&#])#(?=\d*[^\W\d_])([^\W_]+)(?!\w)")
_TEMPLATE = re.compile(
    r"\{hashtag\|\\?#\|((?:\\.|[^\\|{}])+)\}|@\[((?:\\.|[^\\\]])*)\]\([^)]*\)|\\(.)", re.DOTALL
)


def little_text(text: str) -> str:
    """Encodes a text as little text: escapes reserved characters and turns hashtags into links."""
    parts, at = [], 0
    for match in _HASHTAG.finditer(text):
        parts += [_escaped(text[at : match.start()]), f"{{hashtag|\\#|{match[1]}}}"]
        at = match.end()
    return "".join([*parts, _escaped(text[at:])])


def shown_text(commentary: str) -> str:
    """Decodes LinkedIn's format "little text" to what people see: hashtags and mentions as names, no escapes."""
    return _TEMPLATE.sub(_shown, commentary)


def _escaped(text: str) -> str:
    return _RESERVED.sub(r"\\\g<0>", text)


def _shown(match: re.Match[str]) -> str:
    hashtag, mention, escaped = match.groups()
    if escaped is not None:
        return str(escaped)
    return f"#{shown_text(hashtag)}" if hashtag is not None else shown_text(mention)
