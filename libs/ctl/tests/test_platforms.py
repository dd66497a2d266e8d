"""`platform check`: its table, its exit code and its report."""

from pathlib import Path
from typing import Any

import pytest

from contracts.platform_checks import CheckPlatform, PlatformCheck, PlatformReport

GOOD = PlatformCheck(check="app", state="ok", expected="an app at Facebook", found="its id is set")
SKIPPED = PlatformCheck(check="page", state="skipped", expected="it works", found="no page was named")


def answer(line: Any, *checks: PlatformCheck) -> None:
    line.bus.answers["check_platform"] = PlatformReport(platform="FB", checks=checks)


def test_a_check_without_findings_succeeds(line: Any) -> None:
    answer(line, GOOD, SKIPPED)
    assert [row["state"] for row in line.json("platform", "check", "facebook")] == ["ok", "skipped"]
    assert line.bus.calls[0][2] == CheckPlatform(platform="FB", page_id=None)


@pytest.mark.parametrize("state", ["failed", "unknown"])
def test_what_is_not_so_or_not_known_exits_with_1(line: Any, state: str) -> None:
    answer(line, GOOD, PlatformCheck(check="limit", state=state, expected="50", found="25", advice="Wait."))
    result = line.run("platform", "check", "FB", "--page", "pag_1")
    assert result.exit_code == 1
    assert "limit" in result.output
    assert "Wait." in result.output
    assert line.bus.calls[0][2].page_id == "pag_1"


def test_the_report_is_a_table_for_an_issue(line: Any, tmp_path: Path) -> None:
    answer(line, GOOD, PlatformCheck(check="a|b", state="failed", expected="x", found="two\nlines"))
    path = tmp_path / "report.md"
    assert line.run("platform", "check", "FB", "--report", str(path)).exit_code == 1
    title, _, *table = path.read_text().splitlines()
    assert title.startswith("### Facebook, ")
    assert table[2:] == [
        "| app | ok | an app at Facebook | its id is set | – |",
        "| a\\|b | failed | x | two lines | – |",
    ]


def test_another_platform_is_wrong_usage(line: Any) -> None:
    assert line.run("platform", "check", "myspace").exit_code == 2


def test_a_test_post_is_asked_for_with_a_page_alone(line: Any) -> None:
    answer(line, GOOD)
    assert line.run("platform", "check", "FB", "--post").exit_code == 2
    line.run("platform", "check", "TW", "--page", "pag_1", "--post", "--yes-public")
    request = line.bus.calls[0][2]
    assert (request.has_post, request.is_public) == (True, True)
