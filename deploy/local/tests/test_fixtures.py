"""Every fixture states the types of its arguments and of its value."""

import ast
import subprocess

from local.paths import ROOT


def is_typed(function: ast.FunctionDef) -> bool:
    return function.returns is not None and all(
        it.annotation or it.arg == "self" for it in function.args.args
    )


def test_every_fixture_is_typed() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.splitlines() if "tests/" in path and (ROOT / path).is_file()]
    sources = ((path, (ROOT / path).read_text()) for path in paths)
    untyped = [
        f"{path}:{node.lineno} {node.name}"
        for path, source in sources
        if "pytest.fixture" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(it).startswith("pytest.fixture") for it in node.decorator_list)
        and not is_typed(node)
    ]
    assert len(paths) > 500
    assert untyped == []
