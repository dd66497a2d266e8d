"""`python -m local.testing.docstrings SEED`: 40 docstrings of services and libs, for a reader without the code."""

import ast
import random
import subprocess
import sys
from collections.abc import Iterator

from local.paths import ROOT

COUNT = 40


def docstrings() -> Iterator[tuple[str, str]]:
    """Yields where each docstring stands, and its text. Tests and migrations are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "services/*.py", "libs/*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for path in sorted(listed.splitlines()):
        if "/tests/" in path or "/migrations/" in path:
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (
                text := ast.get_docstring(node)
            ):
                yield f"{path} {getattr(node, 'name', '')}", text


if __name__ == "__main__":
    for place, text in random.Random(sys.argv[1]).sample(list(docstrings()), COUNT):
        print(f"{place}\n    {text}\n")
