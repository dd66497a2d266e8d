"""Finds the calls in the connectors' code that lead to a request, and records which of them ran.

A call leads to a request if it is `HttpClient.send`, or if a function of its name in the same platform's folders
contains such a call. Names are compared without types, so the result may contain other calls too, but none is missing.
"""

import ast
import dis
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import publishing.platforms

ROOT = Path(publishing.platforms.__file__).parent
#: Folders that a platform's own folder builds on.
_SHARED = {"facebook": ("meta",), "instagram": ("meta",)}
PLATFORMS = ("facebook", "instagram", "linkedin", "tiktok", "x", "youtube")


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """The place of a call in the code: where it ends, which is different for nested calls."""

    file: str
    line: int
    column: int
    code: str = field(compare=False, default="")


@dataclass(slots=True)
class _Function:
    names: set[str]
    calls: list[ast.Call]


def sending_calls(platform: str) -> set[Site]:
    """Returns the calls in a platform's folders that lead to a request."""
    folders = (platform, *_SHARED.get(platform, ("oauth",)))
    functions = {
        path: list(_functions(ast.parse(path.read_text())))
        for folder in folders
        for path in sorted((ROOT / folder).glob("*.py"))
    }
    sending = {".send"}
    while True:
        found = {
            (path, call)
            for path, rows in functions.items()
            for function in rows
            for call in function.calls
            if _callee(call) in sending
        }
        more = {
            name
            for path, rows in functions.items()
            for function in rows
            if any((path, call) in found for call in function.calls)
            for name in function.names
        }
        if more <= sending:
            return {_site(path, call) for path, call in found}
        sending |= more


def _functions(module: ast.Module) -> Iterator[_Function]:
    """Yields every function with the names by which it can be called, and its calls. Leaves out calls that inner
    functions make.
    """
    methods = {
        node
        for one in ast.walk(module)
        if isinstance(one, ast.ClassDef)
        for node in one.body
        if isinstance(node, ast.FunctionDef)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef):
            # A module's function may be called as the module's attribute.
            names = {f".{node.name}"} if node in methods else {node.name, f".{node.name}"}
            yield _Function(names, [one for one in _own(node) if isinstance(one, ast.Call)])


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of a function without those of functions inside it. A lambda counts as part of its function."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef):
            yield node
            yield from _own(node)


def _callee(call: ast.Call) -> str:
    """Returns `.name` for a method and `name` for a function. Returns "" for a method of a constant, such as a compiled
    pattern: it sends nothing to a platform.
    """
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value
        return "" if isinstance(owner, ast.Name) and owner.id.isupper() else f".{call.func.attr}"
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _site(path: Path, call: ast.Call) -> Site:
    code = f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call)}"
    return Site(str(path), call.end_lineno or 0, call.end_col_offset or 0, code)


class Ran:
    """Records the calls that run in the connectors' code."""

    def __init__(self) -> None:
        self._offsets: dict[CodeType, set[int]] = defaultdict(set)

    @contextmanager
    def watching(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(str(ROOT)):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self._offsets[frame.f_code].add(frame.f_lasti)
        return self._stepped

    def calls(self) -> set[Site]:
        return {site for code, offsets in self._offsets.items() for site in _calls_in(code, offsets)}


def _calls_in(code: CodeType, offsets: Iterable[int]) -> Iterator[Site]:
    for step in dis.get_instructions(code):
        place = step.positions
        if (
            step.offset in offsets
            and step.opname.startswith("CALL")
            and place
            and place.end_lineno is not None
        ):
            yield Site(code.co_filename, place.end_lineno, place.end_col_offset or 0)
