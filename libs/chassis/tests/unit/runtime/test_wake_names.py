"""Every name that a service wakes is the name of one of its loops: at run time a wrong name would do nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVICES = sorted(path.parent for path in (Path(__file__).parents[5] / "services").glob("*/*/service.py"))


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def loops_of(package: Path) -> set[str]:
    functions = [
        node
        for node in ast.walk(ast.parse((package / "service.py").read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    return {
        function.name
        for function in functions
        for decorator in function.decorator_list
        if any(calls(decorator, "loop"))
    }


def woken_in(package: Path) -> set[str]:
    trees = [ast.parse(path.read_text()) for path in package.rglob("*.py")]
    return {ast.literal_eval(call.args[0]) for tree in trees for call in calls(tree, "wake")}


@pytest.mark.parametrize("package", SERVICES, ids=lambda package: package.name)
def test_every_name_that_a_service_wakes_is_one_of_its_loops(package: Path) -> None:
    assert woken_in(package) - loops_of(package) == set()


def test_the_search_finds_names() -> None:
    assert len({name for package in SERVICES for name in woken_in(package)}) >= 8
