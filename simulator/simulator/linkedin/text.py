"""LinkedIn's Little Text Format: an unescaped reserved character silently ends the text."""

RESERVED = "\\|{}@[]()<>#*_~"
LIMIT = 3_000


def shown(commentary: str) -> str:
    """Returns the visible text of a commentary."""
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
            element = (
                _hashtag(commentary, at)
                if letter == "{"
                else _mention(commentary, at)
                if letter == "@"
                else None
            )
            if element is None:
                break
            text, at = element
            out.append(text)
    return "".join(out)


def _hashtag(commentary: str, at: int) -> tuple[str, int] | None:
    """`{hashtag|\\#|tag}`: its text, and where it ends."""
    for start in ("{hashtag|\\#|", "{hashtag|#|"):
        if commentary.startswith(start, at):
            end = commentary.find("}", at)
            tag = commentary[at + len(start) : end]
            return (f"#{tag}", end + 1) if end > 0 and tag.isalnum() else None
    return None


def _mention(commentary: str, at: int) -> tuple[str, int] | None:
    """`@[Name](urn:li:organization:1)`."""
    middle, end = commentary.find("](urn:li:", at), commentary.find(")", at)
    if not commentary.startswith("@[", at) or not 0 < middle < end:
        return None
    return commentary[at + 2 : middle], end + 1
