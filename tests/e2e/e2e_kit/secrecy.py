"""Collects all secrets that tests receive and all texts that they send, and searches the logs for them. No log may
contain one.

Each test process searches all logs of its stack at the end. The logs of a stack that a test starts are searched when
the stack ends.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

#: Names of fields: those whose value is a secret, in responses and the output of commands; and those whose value is a
#: user's text, in requests.
SECRETS = ("secret", "api_token", "sandbox_api_token", "session_token", "access_token")
WORDS = (
    "message",
    "text",
    "first_comment",
    "instruction",
    "prompt",
    "edit_text",
    "custom_instructions",
    "password",
    "current_password",
    "new_password",
)
_IN_ANSWERS = re.compile(r'"(?:' + "|".join(SECRETS) + r')"\s*:\s*"([^"\\]+)"')
#: Shorter texts occur by chance. Only the beginning of a longer text is searched, because a log line may be cut off.
_LEAST, _MOST = 10, 60
_WORD = re.compile(rb"[A-Za-z0-9_-]{10,}")
_SOLID = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
#: Our own processes, whose logs must be JSON.
_OURS = ("accounts", "ai", "gateway", "media", "migrate", "publishing", "quota", "services", "webhooks")

_known: set[str] = set()


def note(*values: object) -> None:
    """Adds values to the collection. Ignores short texts and values that are not text."""
    _known.update(value for value in values if isinstance(value, str) and len(value) >= _LEAST)


def note_request(body: object) -> None:
    """Adds a user's texts in the body of a request to the collection."""
    if isinstance(body, dict):
        note(*(body.get(name) for name in WORDS))


def note_answer(text: str) -> None:
    """Adds the secrets in a JSON response, or in the output of a command, to the collection."""
    note(*_IN_ANSWERS.findall(text))


def check(run: Path) -> None:
    """Searches the logs in this run directory for the collected texts and for the stack's own secrets. Raises
    AssertionError if a log contains one, or if a log of our processes has a line that is not JSON.
    """
    secrets = run / "secrets"
    if secrets.exists():
        note(*(line.partition("=")[2] for line in secrets.read_text().splitlines()))
    told = []
    for path in sorted((run / "logs").glob("*.log")):
        content = path.read_bytes()
        told += [f"{path.name} holds {leak!r}" for leak in leaks(content, _known)]
        if path.stem in _OURS:
            told += [f"{path.name}: not a line of JSON: {line!r}" for line in not_json(content)]
    assert not told, "\n".join(told[:20])


def leaks(content: bytes, known: Iterable[str]) -> Iterator[str]:
    """Yields those of the `known` texts that a log contains, as they are or escaped as in JSON."""
    solid = {match.decode() for match in _WORD.findall(content)}
    for text in known:
        if _SOLID.fullmatch(text):
            if text in solid:
                yield text
        elif any(form.encode() in content for form in _forms(text[:_MOST])):
            yield text


def _forms(text: str) -> set[str]:
    text = text.encode("utf-8", "replace").decode()
    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def not_json(content: bytes) -> Iterator[str]:
    for line in content.splitlines():
        try:
            is_event = "event" in json.loads(line)
        except (ValueError, TypeError):
            is_event = False
        if not is_event:
            yield line[:200].decode(errors="replace")
