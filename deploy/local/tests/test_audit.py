"""`./dev lint --audit` with a fake advisory database in the formats of OSV and of Python's advisories."""

import json
import os
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from local.paths import ROOT
from local.processes.table import NotReady
from local.supply_chain import audit
from local.supply_chain.audit import NPM, PYPI, Advisory, Affected, Package, Pin, Range

TODAY = date(2026, 11, 22)
CLICK = Pin(PYPI, "click", "8.5.1", ("services/gateway", "libs/ctl"))


def ecosystem(*events: dict[str, str]) -> Range:
    return Range("ECOSYSTEM", list(events))


def advisory(identifier: str = "PYSEC-2026-1", **more: Any) -> Advisory:
    affected = Affected(Package(PYPI, "Click"), [ecosystem({"introduced": "0"}, {"fixed": "8.5.2"})])
    return Advisory(**{"id": identifier, "affected": [affected], "summary": "Reads too much.", **more})


def found(*known: Advisory, accepted: dict[str, date] | None = None, pin: Pin = CLICK) -> list[str]:
    return [str(it) for it in audit.audit([pin], known, accepted or {}, TODAY).findings]


# -- the rule ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "events", "affected"),
    [
        ("1.0", [{"introduced": "0"}], True),
        ("1.0", [{"introduced": "0"}, {"fixed": "1.0"}], False),
        ("1.0rc1", [{"introduced": "0"}, {"fixed": "1.0"}], True),
        ("1.9", [{"introduced": "1.10"}], False),
        ("1.10", [{"introduced": "1.9"}, {"fixed": "1.11"}], True),
        ("2.5", [{"introduced": "1.0"}, {"fixed": "2.0"}, {"introduced": "2.4"}, {"fixed": "2.6"}], True),
        ("2.3", [{"introduced": "1.0"}, {"fixed": "2.0"}, {"introduced": "2.4"}, {"fixed": "2.6"}], False),
        ("2.5", [{"fixed": "2.6"}, {"introduced": "2.4"}], True),
        ("1.4", [{"introduced": "1.0"}, {"last_affected": "1.4"}], True),
        ("1.4.post1", [{"introduced": "1.0"}, {"last_affected": "1.4"}], False),
        ("1!1.0", [{"introduced": "0"}, {"fixed": "9"}], False),
        ("1.0", [{"introduced": "not a version"}], True),
    ],
)
def test_a_version_is_affected_as_osv_says(
    version: str, events: list[dict[str, str]], affected: bool
) -> None:
    assert audit.is_affected(version, Affected(ranges=[ecosystem(*events)])) is affected


def test_a_listed_version_is_affected_however_it_is_written() -> None:
    assert audit.is_affected("1.0", Affected(versions=["0.9", "1.0.0"]))
    assert not audit.is_affected("1.0", Affected(versions=["0.9", "unparsable"]))


def test_commits_are_not_compared_with_versions() -> None:
    assert not audit.is_affected("1.0", Affected(ranges=[Range("GIT", [{"introduced": "0"}])]))


# -- what is told --------------------------------------------------------------------------------------------------


def test_a_finding_says_what_it_is_where_it_is_and_what_mends_it() -> None:
    assert found(advisory(aliases=["CVE-2026-7", "GHSA-x"])) == [
        "click 8.5.1: PYSEC-2026-1 (CVE-2026-7, GHSA-x): Reads too much. Fixed in 8.5.2. In services/gateway, libs/ctl."
    ]


def test_a_package_of_that_name_elsewhere_is_another_one() -> None:
    assert found(advisory(), pin=Pin(NPM, "click", "8.5.1", ("clients/node",))) == []


def test_one_vulnerability_in_two_databases_is_told_once() -> None:
    assert len(found(advisory(aliases=["CVE-2026-7"]), advisory("GHSA-x", aliases=["CVE-2026-7"]))) == 1
    assert len(found(advisory(), advisory("GHSA-x"))) == 2


@pytest.mark.parametrize(("until", "count"), [(date(2026, 11, 22), 0), (date(2026, 11, 21), 1)])
def test_an_accepted_advisory_is_accepted_until_its_day_has_passed(until: date, count: int) -> None:
    assert len(found(advisory(aliases=["CVE-2026-7"]), accepted={"CVE-2026-7": until})) == count


def test_accepting_takes_a_reason_and_a_day() -> None:
    table = "[[tool.posthaste.accepted-advisories]]\nid = 'CVE-2026-7'\n"
    whole = f"{table}until = 2026-12-31\nreason = 'only the shell completion'\n"
    assert audit.accepted(whole) == {"CVE-2026-7": date(2026, 12, 31)}
    assert audit.accepted("[tool]\n") == {}
    for short in (f"{table}until = 2026-12-31\n", f"{table}reason = 'later'\n"):
        with pytest.raises(NotReady, match="needs a reason and a date"):
            audit.accepted(short)


def test_every_lock_and_the_node_client_s_packages_are_compared() -> None:
    pins = {(it.ecosystem, it.name): it for it in audit.pins()}
    assert "services/gateway" in pins[PYPI, "flask"].locks
    assert pins[PYPI, "mypy"].locks == ("the tools of the checkout",)
    assert pins[NPM, "standardwebhooks"].version == "1.1.1"
    assert (NPM, "@stablelib/base64") in pins


# -- the database --------------------------------------------------------------------------------------------------

RECORD = {
    "schema_version": "1.6.0",
    "id": "GHSA-made-up",
    "modified": "2026-11-20T10:00:00Z",
    "details": "Reads too much.\nAnd more.",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "flask", "purl": "pkg:pypi/flask"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
            "database_specific": {"source": "made up"},
        }
    ],
}
YAML = """\
id: PYSEC-2026-2
modified: 2026-11-21T10:00:00Z
affected:
- package: {name: flask, ecosystem: PyPI}
  ranges:
  - {type: ECOSYSTEM, events: [{introduced: "0"}]}
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "advisories"
    (folder / "vulns/flask").mkdir(parents=True)
    (folder / "GHSA-made-up.json").write_text(json.dumps(RECORD))
    (folder / "vulns/flask/PYSEC-2026-2.yaml").write_text(YAML)
    (folder / "withdrawn.json").write_text(
        json.dumps(RECORD | {"id": "gone", "withdrawn": "2026-11-21T10:00:00Z"})
    )
    (folder / "triage.yaml").write_text("- false positive\n")
    (folder / "README.md").write_text("none")
    return folder


def zipped(folder: Path) -> Path:
    path = folder.parent / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*.*"):
            archive.write(file, file.relative_to(folder))
    return path


def test_advisories_are_read_from_a_folder_and_from_a_zip_file(database: Path) -> None:
    for place in (database, zipped(database)):
        assert {it.id for it in audit.advisories(place)} == {"GHSA-made-up", "PYSEC-2026-2"}


def test_what_cannot_be_read_is_not_taken_for_a_clean_bill(database: Path) -> None:
    for text in ("{", json.dumps(RECORD | {"affected": [{"ranges": 1}]})):
        (database / "broken.json").write_text(text)
        with pytest.raises(NotReady, match=r"broken\.json cannot be read"):
            list(audit.advisories(database))
    with pytest.raises(NotReady, match="neither a folder nor a zip file"):
        list(audit.advisories(database / "README.md"))


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs only the audit of ./dev lint."""
    code = "import sys; from local import cli; cli.LINT = (); sys.argv[0] = 'dev'; sys.exit(cli.main())"
    return subprocess.run(
        [sys.executable, "-c", code, "lint", "--audit", *arguments],
        cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_a_vulnerable_version_fails_lint(database: Path) -> None:
    for done in (run(str(database)), run(ADVISORY_DATABASE=str(database))):
        assert done.returncode == 1
        assert "GHSA-made-up: Reads too much. Fixed in 99.0." in done.stdout
        assert "PYSEC-2026-2" in done.stdout
        assert "against 2 advisories, the newest of 2026-11-21: 2 found" in done.stdout


def test_a_database_without_our_packages_lets_lint_pass(database: Path) -> None:
    for path in database.rglob("*.*"):
        path.write_text(path.read_text().replace("flask", "another"))
    done = run(str(database))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(": 0 found\n")


def test_without_a_database_it_says_that_nothing_was_compared() -> None:
    done = run(ADVISORY_DATABASE="")
    assert done.returncode == 0
    assert "nothing was compared, because no advisory database is named" in done.stdout


def test_a_database_that_is_named_and_empty_fails(tmp_path: Path) -> None:
    done = run(str(tmp_path))
    assert done.returncode == 1
    assert "holds no advisory in the OSV format" in done.stderr
