"""The table of errors agrees with the specification and the decisions: every code with its status, and no others."""

import re
from pathlib import Path

from contracts.errors import ERRORS

DOCS = Path(__file__).parents[4] / "docs"
CODE = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
#: A code that is no answer of the API: it is told in a failed post.
OF_POSTS = {"PUBLISH_WINDOW_MISSED"}
#: Words in capitals that are settings, not codes.
SETTINGS = {"IDEMPOTENCY_KEY_REQUIRED", "TRUSTED_PROXY_HOPS"}


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def spec_table() -> dict[str, int]:
    rows = re.findall(
        rf"^\| (\d+) \| ({CODE}) \|", section((DOCS / "spec.md").read_text(), "Errors"), re.MULTILINE
    )
    return {code: int(status) for status, code in rows}


def decided_table() -> dict[str, int]:
    found = {}
    for line in section((DOCS / "decisions.md").read_text(), "Errors").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) >= 3:
            statuses, codes = re.findall(r"\d{3}", cells[1]), re.findall(rf"{CODE}|NOT_FOUND", cells[2])
            found |= {code: int(status) for status, code in zip(statuses, codes, strict=False)}
    return found


def test_every_code_of_the_specification_is_there_with_its_status():
    table = spec_table()
    assert len(table) > 30
    assert {code: ERRORS[code].http_status for code in table} == table


def test_every_code_of_the_decisions_is_there_with_its_status():
    table = decided_table()
    assert len(table) > 15
    assert {code: ERRORS[code].http_status for code in table} == table


def test_there_is_no_code_that_neither_of_them_names():
    named = set(re.findall(CODE, (DOCS / "spec.md").read_text() + (DOCS / "decisions.md").read_text()))
    assert set(ERRORS) <= named


def test_every_code_named_anywhere_in_the_decisions_is_in_the_table():
    text = (DOCS / "decisions.md").read_text()
    named = set(re.findall(rf"\b\d{{3}} ({CODE})", text))
    assert named - OF_POSTS - SETTINGS <= set(ERRORS)


def test_every_error_says_what_happened_and_what_to_do():
    for row in ERRORS.values():
        assert row.message.endswith("."), row.code
        assert row.recommended_fix.endswith("."), row.code
        assert row.category in {
            "request", "authentication", "permission", "resource", "idempotency", "limits", "media", "ai", "platform",
            "server",
        }, row.code  # fmt: skip
