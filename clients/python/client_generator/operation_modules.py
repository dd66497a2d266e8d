"""Makes the text of posthaste/operations: a module for each tag with its methods, sync and async. Pure.

ruff formats the text afterwards and removes imports that a module does not need.
"""

from collections.abc import Iterable
from textwrap import wrap

from client_generator.descriptions import Argument, Method
from client_generator.record_modules import MARK
from client_generator.schemas import input_type, python_name

_IMPORTS = """from __future__ import annotations
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from posthaste import inputs, records
from posthaste.callers import AsyncCaller, Caller
from posthaste.encoding import UNSET, Unset
from posthaste.exchange import Call, path_of
"""
_WIDTH = 96


def module_name(tag: str) -> str:
    return python_name(tag.replace(" ", "_").replace("-", "_"))


def class_name(tag: str) -> str:
    words = tag.replace("-", " ").split()
    return "".join(word if word.isupper() else word.capitalize() for word in words) + "Operations"


def operations_module(tag: str, methods: Iterable[Method]) -> str:
    """Returns the text of the module for one tag."""
    own = list(methods)
    name = class_name(tag)
    title = f"The API's operations of the group {tag}"
    return (
        f'{MARK}"""Operations of the group {tag}."""\n\n{_IMPORTS}\n\n'
        f'class {name}(Caller):\n    """{title}; each method waits for the answer."""\n\n'
        + "\n".join(_texts(own, is_async=False))
        + f'\n\nclass Async{name}(AsyncCaller):\n    """{title} for asyncio: await each call."""\n\n'
        + "\n".join(_texts(own, is_async=True))
    )


def package_module(tags: Iterable[str]) -> str:
    """Returns the text of posthaste/operations/__init__.py. Its classes Operations and AsyncOperations inherit from the
    classes of all tags.
    """
    own = list(tags)
    imports = "".join(
        f"from posthaste.operations.{module_name(tag)} import {class_name(tag)}, Async{class_name(tag)}\n"
        for tag in own
    )
    sync = ", ".join(class_name(tag) for tag in own)
    awaited = ", ".join(f"Async{class_name(tag)}" for tag in own)
    return (
        f'{MARK}"""All operations of the API, a module per group."""\n\n{imports}\n\n'
        f'class Operations({sync}):\n    """All operations; each method waits for the answer."""\n\n\n'
        f'class AsyncOperations({awaited}):\n    """All operations for asyncio: await each call."""\n'
    )


def _texts(methods: list[Method], *, is_async: bool) -> list[str]:
    texts = []
    for method in methods:
        texts.append(_method(method, is_async=is_async))
        if method.list_field is not None:
            texts.append(_iterator(method, is_async=is_async))
    return texts


def _method(method: Method, *, is_async: bool) -> str:
    prefix, wait = ("async ", "await ") if is_async else ("", "")
    about = f"`{method.http_method} {method.path}`. {method.description}".strip()
    return (
        f"    {prefix}def {method.name}({_signature(method)}) -> {method.result}:\n"
        + _docstring(method.summary, about)
        + f"        return {wait}self._call({_call(method)})\n"
    )


def _iterator(method: Method, *, is_async: bool) -> str:
    """Returns the text of an `iterate_…` method. It follows the cursor of a list and yields every entry."""
    kind = "AsyncIterator" if is_async else "Iterator"
    name = "iterate_" + method.name.removeprefix("list_")
    about = f"Asks for more entries as they are needed; `limit` is how many one request gets. See `{method.name}`."
    return (
        f"    def {name}({_signature(method, without='cursor')}) -> {kind}[{method.item}]:\n"
        + _docstring(method.summary, about)
        + f"        return self._iterate({_call(method, without='cursor')}, {method.list_field!r})\n"
    )


def _signature(method: Method, without: str | None = None) -> str:
    named = [_query(one) for one in method.query if one.json_name != without]
    named += [_field(one) for one in sorted(method.body or (), key=lambda one: not one.required)]
    if method.keyed:
        named.append("idempotency_key: str | None = None")
    positional = [f"{python_name(name)}: str" for name in method.path_names]
    return ", ".join(["self", *positional, *(["*", *named] if named else [])])


def _query(argument: Argument) -> str:
    kind = input_type(argument.schema)
    return f"{argument.name}: {kind}" if argument.required else f"{argument.name}: {kind} | None = None"


def _field(argument: Argument) -> str:
    kind = input_type(argument.schema, "inputs.")
    if argument.required:
        return f"{argument.name}: {kind}"
    return f"{argument.name}: {kind if kind == 'Any' else f'{kind} | Unset'} = UNSET"


def _call(method: Method, without: str | None = None) -> str:
    path = repr(method.path)
    if method.path_names:
        names = ", ".join(f"{name}={python_name(name)}" for name in method.path_names)
        path = f"path_of({path}, {names})"
    parts = [repr(method.http_method), path, method.result]
    query = [one for one in method.query if one.json_name != without]
    if query:
        parts.append(f"query={_mapping(query)}")
    if method.body is not None:
        parts.append(f"body={_mapping(method.body)}")
    if method.keyed:
        parts.append("keyed=True, idempotency_key=idempotency_key")
    if not method.authenticated:
        parts.append("authenticated=False")
    return f"Call({', '.join(parts)})"


def _mapping(arguments: Iterable[Argument]) -> str:
    return "{" + ", ".join(f"{one.json_name!r}: {one.name}" for one in arguments) + "}"


def _docstring(summary: str, about: str) -> str:
    def wrapped(text: str) -> str:
        return "\n        ".join(wrap(" ".join(text.split()).replace("\\", "\\\\"), _WIDTH))

    return f'        """{wrapped(summary)}\n\n        {wrapped(about)}\n        """\n'
