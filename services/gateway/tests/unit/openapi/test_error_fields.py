"""The description of errors names every field that a service adds to an error, under the error's code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.errors import ERRORS
from gateway.openapi.error_fields import ERROR_FIELDS
from gateway.openapi.responses import error_schema

ROOT = Path(__file__).parents[5]
#: Fields that no client of the API sees: of the operator's commands, and of a page in the browser.
NOT_SHOWN = {("error.row", "operation"), ("NOT_FOUND", "reason")}


def added_fields() -> Iterator[tuple[str, str]]:
    """Yields a code and a field for each `ApiError(CODE, field=…)` in the source."""
    for folder in (*(ROOT / "services").iterdir(), *(ROOT / "libs").iterdir()):
        for path in (folder / folder.name).rglob("*.py"):
            source = path.read_text()
            for node in ast.walk(ast.parse(source)) if "ApiError(" in source else ():
                if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "ApiError":
                    continue
                code = ast.unparse(node.args[0]).removeprefix("errors.")
                yield from ((code, keyword.arg) for keyword in node.keywords if keyword.arg)


def test_every_field_that_is_added_to_an_error_is_described_with_its_code() -> None:
    found = set(added_fields()) - NOT_SHOWN
    assert len(found) > 30
    properties = error_schema()["properties"]
    for code, name in found:
        assert name in properties, f"{code} has {name}"
        if code in ERRORS:
            assert code in ERROR_FIELDS[name].codes.split(", "), f"{code} has {name}"


@pytest.mark.parametrize("name", ERROR_FIELDS)
def test_a_fields_codes_are_codes(name: str) -> None:
    assert set(ERROR_FIELDS[name].codes.split(", ")) <= ERRORS.keys()
    assert error_schema()["properties"][name]["description"]
