"""LinkedIn's `little` text format. In it an unescaped reserved character ends the text silently, unless an element
begins there.

Grammar and reserved characters: learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format
(views up to li-lms-2025-01, read in November 2026). The limit of 3,000 characters is that of the Posts API. That the
text ends silently was seen by other clients.
"""

RESERVED = "\\|{}@[]()<>#*_~"
LIMIT = 3_000
#: Of a hashtag: U+0023 or U+FF03.
_SIGNS = ("#", "\uff03")


def shown(commentary: str) -> str:
    """Returns the text of a post as LinkedIn would show it."""
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
    """Reads a `{hashtag|#|tag}`, whose `#` may be escaped. Returns its text and where it ends; None if there is no
    such element.
    """
    end = commentary.find("}", at)
    name, _, rest = commentary[at + 1 : end].partition("|")
    sign, _, tag = rest.partition("|")
    sign = sign.removeprefix("\\").removesuffix("\\")
    is_one = end > 0 and name == "hashtag" and sign in _SIGNS and tag.isalnum()
    return (f"{sign}{tag}", end + 1) if is_one else None


def _hashtag(commentary: str, at: int) -> tuple[str, int] | None:
    """Reads a `#tag`. Returns its text and where it ends; None if there is none."""
    end = at + 1
    while commentary[end : end + 1].isalnum():
        end += 1
    return (commentary[at:end], end) if end > at + 1 else None


def _mention(commentary: str, at: int) -> tuple[str, int] | None:
    """Reads an `@[Name](urn:li:organization:1)`. Returns its text and where it ends; None if there is none."""
    middle, end = commentary.find("](urn:li:", at), commentary.find(")", at)
    if not commentary.startswith("@[", at) or not 0 < middle < end:
        return None
    return commentary[at + 2 : middle], end + 1


_ELEMENTS = {"{": _template, "#": _hashtag, "@": _mention}
