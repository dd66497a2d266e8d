"""The pages in docs/platforms lead a stranger to a first post. They have the same structure, and the names in them are
those of the code.
"""

import re
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from chassis import config
from contracts.platforms import PLATFORMS
from publishing.platforms.registry import PLUGINS, logins

FOLDER = Path(__file__).parents[5] / "docs" / "platforms"
SECTIONS = [
    "1. The app", "2. Permissions", "3. Reviews", "4. Settings", "5. Connect and check", "6. The first hours",
    "What a post becomes", "What we know",
]  # fmt: skip
#: Read by every platform, and in the table of publishing's README.
COMMON = {"PLATFORM_TIMEOUT_SECONDS"}
META = ("FB", "IG")


def sections(code: str) -> dict[str, str]:
    """Returns the text of each section of a platform's page, by its heading."""
    page = (FOLDER / f"{PLATFORMS[code].folder}.md").read_text()
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """Returns the rows of the first table, without its heading."""
    lines = text.splitlines()
    lines = lines[next(n for n, line in enumerate(lines) if line.startswith("|--")) + 1 :]
    table = takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def variables(monkeypatch: pytest.MonkeyPatch, code: str) -> set[str]:
    """Returns the environment variables from which the platform's settings are read."""
    read: set[str] = set()
    text = config.text

    def noted(name: str, default: str | None = None) -> str:
        read.add(name)
        return text(name, default)

    monkeypatch.setattr(config, "text", noted)
    PLUGINS[code].settings.from_env()
    return read - COMMON


def scopes(code: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Returns every scope that a login of the platform asks for."""
    found: set[str] = set()
    if code == "IG":
        monkeypatch.setenv("INSTAGRAM_ADS_READ", "true")
    for name in ("META_APP_ID", *(f"{app}_CLIENT_ID" for app in ("LINKEDIN", "TIKTOK", "X", "YOUTUBE"))):
        monkeypatch.setenv(name, "app")
    monkeypatch.setenv("LINKEDIN_PAGES_CLIENT_ID", "pages")
    settings: dict[str, Any] = {each: PLUGINS[each].settings.from_env() for each in PLUGINS}
    login = logins(settings)[code]
    for kind in PLATFORMS[code].account_types or (None,):
        one = login.of_app(kind)
        assert one is not None
        found |= set(one.scopes)
    return found


@pytest.mark.parametrize("code", PLATFORMS)
def test_all_pages_have_the_same_sections(code: str) -> None:
    found = sections(code)
    assert [name for name in found if name] == SECTIONS
    assert "connecting.md" in found[""]
    assert "connecting.md" in found["5. Connect and check"]


@pytest.mark.parametrize("code", PLATFORMS)
def test_the_addresses_to_register_are_those_of_the_code(code: str) -> None:
    name, app = PLATFORMS[code].name, sections(code)["1. The app"]
    paths = set(re.findall(r"\{PUBLIC_BASE_URL\}/((?:connect|hooks)[\w/]*)", app))
    hook = {f"hooks/{name}"} if PLUGINS[code].hooks else set()
    assert paths == {f"connect/{name}/callback"} | hook


@pytest.mark.parametrize("code", PLATFORMS)
def test_the_scopes_are_those_that_the_login_asks_for(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {
        scope
        for row in rows(sections(code)["2. Permissions"])
        for scope in row[0].split(", ")
        if not scope.startswith("with ")
    }
    prefix = "https://www.googleapis.com/auth/" if code == "YT" else ""
    assert {prefix + scope for scope in named} == scopes(code, monkeypatch)


@pytest.mark.parametrize("code", PLATFORMS)
def test_the_settings_are_those_that_the_code_reads(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def named(of: str) -> set[str]:
        return {name for row in rows(sections(of)["4. Settings"]) for name in re.findall(r"[A-Z_]+", row[0])}

    expected = variables(monkeypatch, code)
    assert named(code) <= expected
    shared = set().union(*map(named, META)) if code in META else named(code)
    assert shared == expected


@pytest.mark.parametrize("code", PLATFORMS)
def test_the_check_is_named_with_the_platforms_name(code: str) -> None:
    check = " ".join(sections(code)["5. Connect and check"].split())
    assert f"platform check {PLATFORMS[code].name} --page" in check
    trial = PLUGINS[code].trial
    assert ("--yes-public" in check) is (trial is not None and trial.is_public)
    assert ("There is no test post" in check) is (trial is None)


@pytest.mark.parametrize("code", PLATFORMS)
def test_every_fact_says_from_where_since_when_and_how_sure(code: str) -> None:
    facts = sections(code)["What we know"]
    assert "| Fact | Source | Read | Sure |" in facts
    assert len(rows(facts)) >= 5
    assert [row for row in rows(facts) if len(row) != 4 or not all(row)] == []
