"""The descriptions of records' fields in `/openapi.json`: the `#:` comments above them in the source. Pure."""

import inspect
import re
import sys
from functools import cache
from types import ModuleType

from contracts.record import Record

_CLASS = re.compile(r"class (\w+)\b")
_COMMENT = re.compile(r"    #: ?(.*)")
_FIELD = re.compile(r"    (\w+): ")
#: References to our own pages, which a reader of the description does not have.
_REFERENCE = re.compile(r"\s*\((?:decisions|spec|Spec|platforms\.md)\b[^)]*\)|\bSpec \"[^\"]*\"[.;:]?\s*")


def texts_of(record: type) -> dict[str, str]:
    """Returns the descriptions of a record's fields, inherited ones included: name in Python → `#:` comment above it.

    Fields without a comment are left out.
    """
    texts: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if issubclass(base, Record):  # not msgspec's own class, which has no source
            texts |= _texts_in(sys.modules[base.__module__]).get(base.__name__, {})
    return texts


def for_clients(text: str) -> str:
    """Returns a docstring or comment as clients read it: without references to our own documents, and with null for
    None.

    Each paragraph is one line, because Markdown shows indented lines as code.
    """
    whole = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    left = re.sub(r"\bNone\b", "null", _REFERENCE.sub("", whole))
    return left if left.startswith("null") else left[:1].upper() + left[1:]


@cache
def _texts_in(module: ModuleType) -> dict[str, dict[str, str]]:
    """Returns the `#:` comments above the fields of a module's classes, for clients: class → field → text."""
    found: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    comment: list[str] = []
    for line in inspect.getsource(module).splitlines():
        if match := _CLASS.match(line):
            fields = found.setdefault(match[1], {})
        if match := _COMMENT.match(line):
            comment.append(match[1])
            continue
        if comment and (match := _FIELD.match(line)):
            fields[match[1]] = for_clients(" ".join(comment))
        comment = []
    return found
