"""`./dev release`: what it writes, and when it refuses to."""

import re
import shutil
from datetime import date
from pathlib import Path

import pytest

from local import release
from local.paths import ROOT
from local.processes.table import NotReady
from local.stack import units

DAY = date(2027, 1, 31)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the files that a release changes."""
    for path in [ROOT / "CHANGELOG.md", *release.places(ROOT, release.present())]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    changelog = tmp_path / "CHANGELOG.md"
    entries = f"{release.UNRELEASED}{release.UPGRADE}{release.DOWNTIME}none.\n"  # right after a release there are none
    changelog.write_text(changelog.read_text().replace(release.UNRELEASED, entries, 1))
    return tmp_path


def test_every_place_has_the_same_version() -> None:
    found = release.places(ROOT, release.present())
    assert [str(path) for path, count in found.items() if count == 0] == []


def test_the_version_stands_in_no_other_file_that_a_release_would_have_to_change() -> None:
    version = release.present()
    words = ("-e", version, "-e", version.replace(".", "-"))
    kinds = ("docker-compose.yml", "deploy/*.yaml", "deploy/*.yml", "deploy/*.env", "deploy/*Dockerfile")
    named = release.git("grep", "--fixed-strings", "--name-only", *words, "--", *kinds).split()
    known = {str(path.relative_to(ROOT)) for path in release.places(ROOT, version)}
    assert set(named) - known == set()


def test_no_command_of_the_guide_is_left_with_an_old_image() -> None:
    guide = (ROOT / "docs" / "operations.md").read_text()
    assert {*re.findall(r"posthaste[/_][a-z]+[:_](\d+\.\d+\.\d+)", guide)} == {release.present()}


def test_a_release_writes_its_version_everywhere(checkout: Path) -> None:
    old = release.present(checkout)
    before = release.places(checkout, old)
    release.rewrite(checkout, old, "9.8.7", DAY)
    assert release.present(checkout) == "9.8.7"
    assert release.places(checkout, "9.8.7") == before
    assert set(release.places(checkout, old).values()) == {0}


def test_the_unreleased_entries_get_the_version_and_the_day(checkout: Path) -> None:
    before = (checkout / "CHANGELOG.md").read_text()
    release.rewrite(checkout, release.present(checkout), "9.8.7", DAY)
    after = (checkout / "CHANGELOG.md").read_text()
    migrations = f"- Migrations, up to: {release.migrations(ROOT)}.\n"
    written = f"\n## [9.8.7] - 2027-01-31\n{release.UPGRADE}{migrations}{release.DOWNTIME}"
    assert written in after
    assert after.replace(written, release.UPGRADE + release.DOWNTIME, 1) == before


def test_the_notes_of_an_upgrade_name_the_newest_migration_of_every_database() -> None:
    named = dict(part.split(" ") for part in release.migrations(ROOT).split(", "))
    assert named.keys() == set(units.DATABASES)
    for service, revision in named.items():
        assert revision == max(
            path.name[:4] for path in (ROOT / "services" / service / "migrations").glob("0*")
        )


def test_without_entries_there_is_no_release() -> None:
    with pytest.raises(NotReady, match="nothing under"):
        release.with_section(
            "# Changelog\n\n## [Unreleased]\n\n## [1.3.0] - 2026-01-01\n- A\n", "1.4.0", DAY, ""
        )


def test_a_release_says_how_long_an_upgrade_takes_the_api_away() -> None:
    with pytest.raises(NotReady, match="Downtime"):
        release.with_section("# Changelog\n\n## [Unreleased]\n### Added\n- A\n", "1.4.0", DAY, "ai 0010")


def test_a_place_with_another_version_is_named_and_nothing_is_written(checkout: Path) -> None:
    strange = checkout / "libs" / "chassis" / "pyproject.toml"
    strange.write_text(strange.read_text().replace(release.present(checkout), "0.0.1"))
    before = (checkout / "CHANGELOG.md").read_text()
    with pytest.raises(NotReady, match="libs/chassis"):
        release.rewrite(checkout, release.present(checkout), "9.8.7", DAY)
    assert (checkout / "CHANGELOG.md").read_text() == before


@pytest.mark.parametrize(
    ("new", "is_next"),
    [
        ("1.3.1", True),
        ("1.4.0", True),
        ("2.0.0", True),
        ("1.3.0", False),
        ("1.2.9", False),
        ("1.5.0", False),
        ("1.4.1", False),
    ],
)
def test_only_the_next_version_of_a_kind_follows(new: str, is_next: bool) -> None:
    assert release.follows(release.parsed(new), (1, 3, 0)) is is_next


@pytest.mark.parametrize("text", ["1.4", "1.4.0rc1", "next", ""])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(NotReady, match="three numbers"):
        release.parsed(text)
