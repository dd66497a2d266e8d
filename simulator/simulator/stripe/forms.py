"""Parses parameters in Stripe's form encoding: `metadata[order]=7`, `payment_method_types[]=card`, `created[gte]=…`."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simulator.stripe.errors import StripeError, missing, unknown

_PATH = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")


def nested(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Returns the parameters; those with brackets in their names become objects or lists. Raises StripeError for a
    malformed name.
    """
    tree: dict[str, Any] = {}
    for name, value in pairs:
        match = _PATH.fullmatch(name)
        if match is None:
            raise unknown(name)
        first, *inner = [match[1], *re.findall(r"\[([^\[\]]*)\]", match[2])]
        if inner in ([""], ["0"]):
            tree.setdefault(first, []).append(value)
        elif len(inner) == 1:
            tree.setdefault(first, {})[inner[0]] = value
        elif not inner:
            tree[first] = value
        else:
            raise unknown(name)
    return tree


def only_known(params: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raises StripeError if a parameter is not in `names`."""
    for name in params:
        if name not in names:
            raise unknown(name)


def text(params: Mapping[str, Any], name: str) -> str | None:
    """Returns a parameter with a single value; None if it is missing or empty. Raises StripeError if it is a list or
    an object.
    """
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise StripeError(400, f"Invalid string: {value}", "parameter_invalid_string", name)
    return value or None


def integer(params: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Returns a parameter as an integer, or `default` if it is missing. Raises StripeError if it is not an integer, or
    is missing without a default.
    """
    value = text(params, name)
    if value is None:
        if default is None:
            raise missing(name)
        return default
    if not re.fullmatch(r"-?\d{1,12}", value):
        raise StripeError(400, f"Invalid integer: {value}", "parameter_invalid_integer", name)
    return int(value)


def flag(params: Mapping[str, Any], name: str) -> bool:
    """Returns a parameter that is `true` or `false`; False if it is missing. Raises StripeError for any other value."""
    value = text(params, name)
    if value not in (None, "true", "false"):
        raise StripeError(400, f"Invalid boolean: {value}", "parameter_invalid_boolean", name)
    return value == "true"


def mapping(params: Mapping[str, Any], name: str) -> dict[str, str]:
    """Returns a parameter that is an object, such as metadata; an empty dict if it is missing. Raises StripeError for
    a list or a text.
    """
    value = params.get(name) or {}
    if not isinstance(value, dict):
        raise StripeError(400, "Invalid object", "parameter_invalid_object", name)
    return value
