"""The kinds of value that a description allows. Each returns a value's problems; an empty list if it is allowed."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

#: Takes the name of the value, for the problem's text, and the value.
Shape = Callable[[str, Any], list[str]]


def anything(name: str, value: Any) -> list[str]:
    return []


def text(pattern: str = r"(?s).+", longest: int | None = None) -> Shape:
    """A text that the whole pattern matches; by default any text but an empty one."""

    def check(name: str, value: Any) -> list[str]:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            return [f"{name}: {value!r} is no text of the form {pattern}"]
        return [f"{name}: longer than {longest}"] if longest is not None and len(value) > longest else []

    return check


def whole(low: int = 0, high: int | None = None) -> Shape:
    """A whole number. Queries and forms hold it as digits."""

    def check(name: str, value: Any) -> list[str]:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number and not (isinstance(value, str) and re.fullmatch(r"-?\d+", value)):
            return [f"{name}: {value!r} is no whole number"]
        is_within = low <= int(value) and (high is None or int(value) <= high)
        return [] if is_within else [f"{name}: {value} is not between {low} and {high}"]

    return check


def flag(name: str, value: Any) -> list[str]:
    """A yes or no. Queries and forms hold it as `true` or `false`."""
    return [] if isinstance(value, bool) or value in ("true", "false") else [f"{name}: {value!r} is no flag"]


def one_of(values: str) -> Shape:
    """One of these values, which are separated by blanks."""
    return lambda name, value: [] if value in values.split() else [f"{name}: unknown value {value!r}"]


def list_of(values: str, separator: str = ",") -> Shape:
    """A text that lists some of these values."""

    def check(name: str, value: Any) -> list[str]:
        return [
            f"{name}: unknown value {one!r}" for one in value.split(separator) if one not in values.split()
        ]

    return check


def array(item: Shape, most: int | None = None) -> Shape:
    def check(name: str, value: Any) -> list[str]:
        if not isinstance(value, list):
            return [f"{name}: no list"]
        problems = [problem for one in value for problem in item(name, one)]
        return problems + ([f"{name}: more than {most}"] if most is not None and len(value) > most else [])

    return check


def record(fields: Mapping[str, Shape], required: Collection[str] = ()) -> Shape:
    """An object with no other fields than these."""

    def check(name: str, value: Any) -> list[str]:
        if not isinstance(value, Mapping):
            return [f"{name}: no object"]
        inside = f"{name}." if name else ""
        return [
            *(f"{inside}{field}: unknown" for field in value if field not in fields),
            *(f"{inside}{field}: missing" for field in required if field not in value),
            *(
                problem
                for field, one in value.items()
                if field in fields
                for problem in fields[field](f"{inside}{field}", one)
            ),
        ]

    return check


def named(names: str, shape: Shape = anything) -> dict[str, Shape]:
    """Returns fields of one shape. `names` are separated by blanks."""
    return dict.fromkeys(names.split(), shape)
