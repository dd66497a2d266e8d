"""Little text: what LinkedIn reads a post's commentary as, and back again. Pure. Comments are plain text.

A reserved character that is not escaped cuts the text off there, without a word (platforms.md 4).
"""

import re

_RESERVED = re.compile(r"[\\|{}@\[\]()<>#*_~]")
#: A hashtag of letters and digits with a letter among them; `C#`, `#1` and `#a_b` stay the signs they are.
_HASHTAG = re.compile(r"(?<![\w&#])#(?=\d*[^\W\d_])([^\W_]+)(?!\w)")
_TEMPLATE = re.compile(
    r"\{hashtag\|\\?#\|((?:\\.|[^\\|{}])+)\}|@\[((?:\\.|[^\\\]])*)\]\([^)]*\)|\\(.)", re.DOTALL
)


def little_text(text: str) -> str:
    """A text as `commentary` wants it: everything reserved escaped, hashtags as links."""
    parts, at = [], 0
    for match in _HASHTAG.finditer(text):
        parts += [_escaped(text[at : match.start()]), f"{{hashtag|\\#|{match[1]}}}"]
        at = match.end()
    return "".join([*parts, _escaped(text[at:])])


def shown_text(commentary: str) -> str:
    """What people read of a commentary, whoever wrote it: hashtags and mentions by their names, escapes undone."""
    return _TEMPLATE.sub(_shown, commentary)


def _escaped(text: str) -> str:
    return _RESERVED.sub(r"\\\g<0>", text)


def _shown(match: re.Match[str]) -> str:
    hashtag, mention, escaped = match.groups()
    if escaped is not None:
        return str(escaped)
    return f"#{shown_text(hashtag)}" if hashtag is not None else shown_text(mention)
