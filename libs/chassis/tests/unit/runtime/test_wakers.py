"""Every `Waker` of a service wakes one of its loops. One without a loop would do nothing."""

import ast
from pathlib import Path

import pytest

SERVICES = sorted(path.parent for path in (Path(__file__).parents[5] / "services").glob("*/*/service.py"))


def wakers_of(package: Path) -> set[str]:
    assignments = [
        node
        for path in package.rglob("*.py")
        if "Waker()" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and "Waker()" in ast.unparse(node.value)
    ]
    return {
        name.id
        for assignment in assignments
        for target in assignment.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def waking_loops_of(package: Path) -> set[str]:
    keywords = [
        node
        for node in ast.walk(ast.parse((package / "service.py").read_text()))
        if isinstance(node, ast.keyword) and node.arg == "woken_by"
    ]
    return {ast.unparse(keyword.value).rpartition(".")[2] for keyword in keywords}


@pytest.mark.parametrize("package", SERVICES, ids=lambda package: package.name)
def test_every_waker_is_given_to_a_loop(package: Path) -> None:
    assert wakers_of(package) == waking_loops_of(package)


def test_the_search_finds_wakers() -> None:
    assert sum(len(wakers_of(package)) for package in SERVICES) >= 8
