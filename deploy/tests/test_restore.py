"""deploy/backup: a restore brings back the dumped data, or changes nothing and reports why."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.pool import NullPool

from local.paths import ROOT
from local.servers import postgres
from local.stack import units
from testkit.fixtures import cloned_databases

#: Restored in the middle: others come before it and after it.
MIDDLE = "quota"


class Installation:
    """Migrated databases of every service. Each has a test table with one word, which the tests check."""

    def __init__(self, urls: dict[str, str]) -> None:
        self.urls = urls
        for service in urls:
            self.run(service, "CREATE TABLE kept (word text)")
        self.write("before the backup")

    def run(self, service: str, statement: str) -> list[str]:
        with self.connected(service) as connection:
            found = connection.execute(text(statement))
            return [row[0] for row in found] if found.returns_rows else []

    def connected(self, service: str) -> Connection:
        return create_engine(self.urls[service], isolation_level="AUTOCOMMIT", poolclass=NullPool).connect()

    def write(self, word: str) -> None:
        for service in self.urls:
            self.run(service, f"DELETE FROM kept; INSERT INTO kept VALUES ('{word}')")

    def words(self) -> set[str]:
        return {word for service in self.urls for word in self.run(service, "SELECT word FROM kept")}

    def script(self, name: str, folder: Path, without: str = "") -> subprocess.CompletedProcess[str]:
        told = {f"DATABASE_URL_{service.upper()}": url for service, url in self.urls.items()}
        told.pop(f"DATABASE_URL_{without.upper()}", None)
        path = f"{postgres.programs()}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [ROOT / "deploy" / "backup" / name, folder],
            env={"PATH": path, **told}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip


@pytest.fixture(scope="module")
def dump(admin: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of databases such as each test has."""
    folder = tmp_path_factory.mktemp("dump")
    with cloned_databases(admin) as database_for:
        kept = Installation({service: database_for(service) for service in units.DATABASES})
        done = kept.script("dump.sh", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def kept(database_for: Callable[[str], str], dump: Path, tmp_path: Path) -> Installation:
    """The databases, with a backup of them in `tmp_path`."""
    kept = Installation({service: database_for(service) for service in units.DATABASES})
    shutil.copytree(dump, tmp_path, dirs_exist_ok=True)
    kept.write("after the backup")
    return kept


def test_databases_that_hold_something_become_what_they_were_again_and_again(
    kept: Installation, tmp_path: Path
) -> None:
    kept.run(MIDDLE, "CREATE TABLE younger AS SELECT 1")
    for _ in range(2):
        done = kept.script("restore.sh", tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert kept.words() == {"before the backup"}
        assert kept.run(MIDDLE, "SELECT to_regclass('younger') IS NULL") == [True]
        assert kept.script("dump.sh", tmp_path).returncode == 0
        kept.write("later still")


@pytest.mark.parametrize("part", [0.3, 0.9], ids=["in its head", "in its rows"])
def test_a_dump_that_ends_too_early_changes_no_database(
    kept: Installation, tmp_path: Path, part: float
) -> None:
    dump = tmp_path / f"{MIDDLE.upper()}.dump"
    dump.write_bytes(dump.read_bytes()[: int(dump.stat().st_size * part)])
    done = kept.script("restore.sh", tmp_path)
    assert done.returncode == 1
    assert f"{dump} is not whole. No database was touched." in done.stderr
    assert kept.words() == {"after the backup"}


def test_what_fails_in_the_middle_leaves_that_database_as_it_was(kept: Installation, tmp_path: Path) -> None:
    kept.run(MIDDLE, "CREATE SCHEMA elsewhere")
    kept.run(MIDDLE, "CREATE TABLE elsewhere.made (id int)")
    assert (
        kept.script("dump.sh", tmp_path).returncode == 0
    )  # elsewhere is not dropped: the dump cannot make it again
    kept.write("after this backup")
    done = kept.script("restore.sh", tmp_path)
    assert done.returncode == 1
    assert 'schema "elsewhere" already exists' in done.stderr
    assert f"{MIDDLE.upper()} was not restored and holds what it held." in done.stderr
    assert kept.run(MIDDLE, "SELECT word FROM kept") == ["after this backup"]


def test_nothing_is_restored_beneath_what_still_runs(kept: Installation, tmp_path: Path) -> None:
    with kept.connected(MIDDLE):
        done = kept.script("restore.sh", tmp_path)
    assert done.returncode == 1
    assert f"{MIDDLE.upper()}: its database is in use." in done.stderr
    assert kept.words() == {"after the backup"}


@pytest.mark.parametrize("script", ["dump.sh", "restore.sh"])
def test_without_the_address_of_a_database_nothing_is_begun(
    kept: Installation, tmp_path: Path, script: str
) -> None:
    done = kept.script(script, tmp_path, without=MIDDLE)
    assert done.returncode != 0
    assert f"DATABASE_URL_{MIDDLE.upper()}" in done.stderr
    assert kept.words() == {"after the backup"}


def test_a_backup_that_did_not_end_is_none(kept: Installation, tmp_path: Path) -> None:
    urls = dict(kept.urls)
    kept.urls["gateway"] += "_that_is_not_there"
    assert kept.script("dump.sh", tmp_path).returncode != 0
    kept.urls = urls
    done = kept.script("restore.sh", tmp_path)
    assert done.returncode == 1
    assert "the backup did not end. No database was touched." in done.stderr
    assert kept.words() == {"after the backup"}


def test_posts_come_back_only_with_those_marked_that_may_have_gone_out_since(
    kept: Installation, tmp_path: Path
) -> None:
    (tmp_path / "began_at").write_text("nobody knows when\n")
    done = kept.script("restore.sh", tmp_path)
    assert done.returncode == 1
    assert '"nobody knows when"' in done.stderr
    assert "PUBLISHING was not restored and holds what it held." in done.stderr
    assert kept.run("publishing", "SELECT word FROM kept") == ["after the backup"]
