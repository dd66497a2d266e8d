"""LinkedIn's text format `little`: an unescaped reserved character ends the text without an error, unless it begins an
element (a hashtag or a mention).

Grammar and reserved characters: learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format
(views up to li-lms-2025-01, read in November 2026). The limit of 3,000 characters is that of the Posts API. Other
clients observed that the text ends without an error.
"""

RESERVED = "\\|{}@[]()<>#*_~"
LIMIT = 3_000
#: The characters with which a hashtag may begin.
_SIGNS = ("#", "\uff03")


def shown(commentary: str) -> str:
    """Returns the text that LinkedIn shows for this `commentary`."""
    out, at = [], 0
    while at < len(commentary):
        letter = commentary[at]
        if letter not in RESERVED:
            out.append(letter)
            at += 1
        elif letter == "\\" and commentary[at + 1 : at + 2] and commentary[at + 1] in RESERVED:
            out.append(commentary[at + 1])
            at += 2
        else:
            read = _ELEMENTS.get(letter)
            element = read(commentary, at) if read else None
            if element is None:
                break
            text, at = element
            out.append(text)
    return "".join(out)


def _template(commentary: str, at: int) -> tuple[str, int] | None:
    """Reads an element `{hashtag|#|tag}` at this index; its `#` may be escaped. Returns the hashtag and the index
    after the element, or None if there is no such element.
    """
    end = commentary.find("}", at)
    name, _, rest = commentary[at + 1 : end].partition("|")
    sign, _, tag = rest.partition("|")
    sign = sign.removeprefix("\\").removesuffix("\\")
    is_one = end > 0 and name == "hashtag" and sign in _SIGNS and tag.isalnum()
    return (f"{sign}{tag}", end + 1) if is_one else None


def _hashtag(commentary: str, at: int) -> tuple[str, int] | None:
    """Reads a `#tag` at this index. Returns the hashtag and the index after it, or None if there is none."""
    end = at + 1
    while commentary[end : end + 1].isalnum():
        end += 1
    return (commentary[at:end], end) if end > at + 1 else None


def _mention(commentary: str, at: int) -> tuple[str, int] | None:
    """Reads a mention such as `@[Name](urn:li:organization:1)` at this index. Returns the name and the index after the
    mention, or None if there is none.
    """
    middle, end = commentary.find("](urn:li:", at), commentary.find(")", at)
    if not commentary.startswith("@[", at) or not 0 < middle < end:
        return None
    return commentary[at + 2 : middle], end + 1


_ELEMENTS = {"{": _template, "#": _hashtag, "@": _mention}
