"""System packages: present ones are used. An error names missing ones that cannot be installed."""

import subprocess
from pathlib import Path

import pytest

from local.processes.table import NotReady
from local.servers import browser, packages


def ignore(line: str) -> None:
    """Ignores progress."""


def test_what_is_there_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("nothing is to be run"))
    packages.install(("chromium",), lambda: True, "missing", ignore)


def test_where_no_browser_can_be_installed_the_message_names_the_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(NotReady) as told:
        browser.install(ignore)
    assert "chromium-headless-shell (or chromium) and chromium-driver" in str(told.value)


def test_an_installation_that_brings_nothing_tells_what_apt_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 0, "", f"E: no {argv[-1]}")

    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(NotReady, match=r"E: no rye\nneeds rye"):
        packages.install(("rye",), lambda: False, "needs rye", lambda _: None)


def test_what_was_unpacked_is_not_unpacked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("nothing is to be run"))
    packages.unpack("rye", tmp_path, "missing", ignore)


def test_a_package_that_cannot_be_had_leaves_no_folder_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Uses a fake apt that fails as it does without a network."""
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text('#!/bin/sh\necho "E: no $3" >&2; exit 100\n', encoding="utf-8")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:/usr/bin:/bin")
    with pytest.raises(NotReady, match=r"E: no rye(?s:.*)needs rye"):
        packages.unpack("rye", tmp_path / "made" / "rye", "needs rye", ignore)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["rye.lock"]
