"""`python -m local.testing.docstrings SEED`: draws 40 docstrings of our packages, for a reader without the code.

Each stands under its signature, as an editor shows it.
"""

import ast
import random
import subprocess
import sys
from collections.abc import Iterator

from local.paths import ROOT

COUNT = 40
FOLDERS = ("services", "libs", "simulator", "clients", "bench")


def docstrings() -> Iterator[tuple[str, str]]:
    """Yields the file and signature of each documented thing, and its text. Tests and migrations are left out."""
    listed = subprocess.run(
        ["git", "ls-files", *(f"{folder}/*.py" for folder in FOLDERS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for path in sorted(listed.splitlines()):
        if "/tests/" not in path and "/migrations/" not in path:
            for signature, text in _documented(ast.parse((ROOT / path).read_text()), ""):
                yield f"{path} {signature}", text


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef, outer: str) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Module():
            signature, inner = "", ""
        case ast.ClassDef(name=name, bases=bases):
            inner = f"{outer}{name}."
            signature = f"class {outer}{name}({', '.join(map(ast.unparse, bases))})"
        case ast.FunctionDef(name=name, args=args, returns=returns):
            inner = f"{outer}{name}."
            signature = f"{outer}{name}({ast.unparse(args)})"
            if returns is not None:
                signature += f" -> {ast.unparse(returns)}"
    if text := ast.get_docstring(node):
        yield signature, text
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _documented(child, inner)


if __name__ == "__main__":
    for place, text in random.Random(sys.argv[1]).sample(list(docstrings()), COUNT):
        print(f"{place}\n    {text}\n")
