"""Names generated files after their prompts, so that people find them again in their library. Pure."""

import re

#: Our choice: about what a tile of a library shows in two lines.
_LONGEST = 60


def file_name(prompt: str, extension: str, otherwise: str) -> str:
    """Returns a file name made of a prompt's first words, or of `otherwise` if the prompt has no word."""
    words = [word for word in re.split(r"[^\w'’-]+", prompt) if re.search(r"\w", word)]
    stem = ""
    for word in words:
        if len(stem) + len(word) >= _LONGEST:
            break
        stem = f"{stem} {word}".strip()
    return f"{stem or ''.join(words)[:_LONGEST] or otherwise}.{extension}"
