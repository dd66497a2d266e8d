"""The daily backup of compose: which backups it keeps, and what a trial restore finds. Nobody can read a backup without
the key.
"""

import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import urllib3
from deploy_kit import wait_until
from minio import Minio
from seaweed import ADMIN, seaweed
from seaweed import client as seaweed_client
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

from local.paths import ROOT
from local.servers import postgres
from local.stack import units
from testkit.fixtures import cloned_databases, own_bucket

FOLDER = ROOT / "deploy" / "backup"
TODAY = datetime.now(UTC).date()
SERVICE = "quota"
#: Access key, secret and bucket of backups at a provider: for the backup that tests share, and for those of one test.
SHARED_USER = ("shared-key", "shared-secret", "posthaste-shared")
OWN_USER = ("backup-key", "backup-secret", "posthaste-backup")


def expired(names: list[str]) -> set[str]:
    done = subprocess.run(
        ["awk", "-f", FOLDER / "expired.awk"],
        input="".join(f"{name}\n" for name in names), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def days(count: int, last: date = date(2026, 11, 27)) -> list[str]:
    return [str(last - timedelta(days=number)) for number in range(count)]


def kept_by_rule(names: set[str]) -> set[str]:
    """Returns the backups to keep, found in another way: the newest of each week and of each month."""
    newest = sorted(names, reverse=True)
    weeks: dict[object, str] = {}
    months: dict[str, str] = {}
    for name in newest:
        weeks.setdefault(date.fromisoformat(name).isocalendar()[:2], name)
        months.setdefault(name[:7], name)
    return {*newest[:7], *[*weeks.values()][:4], *[*months.values()][:6]}


def test_of_a_year_of_daily_backups_seven_daily_four_weekly_and_six_monthly_ones_are_kept() -> None:
    there: set[str] = set()
    for name in reversed(days(400)):
        there |= {name}
        there -= expired([*there])
    assert there == {
        *days(7),
        *("2026-11-22", "2026-11-15", "2026-11-08"),
        *("2026-10-31", "2026-09-30", "2026-08-31", "2026-07-31", "2026-06-30"),
    }


@pytest.mark.parametrize("seed", range(20))
def test_with_gaps_and_in_any_order_the_newest_of_each_week_and_month_are_kept(seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample(days(900, date(2025, 3, 2)), chance.randrange(1, 200))
    assert expired(names) == set(names) - kept_by_rule(set(names))


def test_a_name_that_is_no_date_is_nobody_s_to_delete() -> None:
    names = [*days(40), *days(40), "2019-01-01.part", "2020-1-1", "notes", ""]
    assert expired(names) == set(days(40)) - kept_by_rule(set(days(40)))


class KeptInFolder:
    """Keeps backups in a folder of the machine, as without a bucket."""

    env: dict[str, str] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "backup/encrypted"

    def contents(self) -> dict[str, bytes]:
        """Returns every stored file by its path."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def put(self, path: str, words: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(words)

    def remove(self, path: str) -> None:
        (self.folder / path).unlink()


class KeptInBucket:
    """Keeps backups in a provider's bucket, with a user that may use only this bucket."""

    def __init__(self, address: str, user: tuple[str, str, str]) -> None:
        access, secret, self.bucket = user
        self.s3 = seaweed_client(address, ADMIN)
        self.env = {
            "BACKUP_S3_URL": f"http://{address}",
            "BACKUP_S3_BUCKET": self.bucket,
            "BACKUP_S3_ACCESS_KEY": access,
            "BACKUP_S3_SECRET_KEY": secret,
        }
        for path in self.contents():
            self.remove(path)

    def contents(self) -> dict[str, bytes]:
        """Returns every stored file by its path."""
        found = {}
        for it in self.s3.list_objects(self.bucket, recursive=True):
            answer = self.s3.get_object(self.bucket, it.object_name or "")
            found[it.object_name or ""] = answer.read()
            answer.close()
            answer.release_conn()
        return found

    def put(self, path: str, words: bytes) -> None:
        self.s3.put_object(self.bucket, path, io.BytesIO(words), len(words))

    def remove(self, path: str) -> None:
        self.s3.remove_object(self.bucket, path)


class Backups:
    """Databases with rows, a bucket with files, and the backup script with a folder or a bucket for the backups."""

    def __init__(
        self,
        folder: Path,
        urls: dict[str, str],
        bucket: dict[str, str],
        kept: KeptInFolder | KeptInBucket,
    ) -> None:
        self.folder, self.urls, self.bucket, self.kept = folder, urls, bucket, kept
        path = (
            f"{postgres.programs()}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        for name in ("work", "backup"):
            (folder / name).mkdir()
        self.env = {
            "PATH": path,
            "WORK": str(folder / "work"),
            "FOLDER": str(folder / "backup"),
            "SERVER_USER": "nobody",
            "BACKUP_KEY": "a key of the operator's",
            **{f"DATABASE_URL_{service.upper()}": url for service, url in urls.items()},
            **bucket,
            **kept.env,
        }
        self.files = Minio(
            bucket["S3_URL"].partition("//")[2], bucket["S3_ACCESS_KEY"], bucket["S3_SECRET_KEY"],
            secure=False, http_client=urllib3.PoolManager(headers={"Connection": "close"}),
        )  # fmt: skip

    def run(self, *words: str, code: int = 0, **told: str) -> str:
        done = subprocess.run(
            [FOLDER / "backup.sh", *words], env=self.env | told, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def write(self, service: str, statement: str) -> None:
        engine = create_engine(self.urls[service], isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text(statement))

    def put(self, name: str, words: bytes) -> None:
        self.files.put_object(self.bucket["S3_BUCKET"], name, io.BytesIO(words), len(words))

    def names(self) -> set[str]:
        return {
            it.object_name or "" for it in self.files.list_objects(self.bucket["S3_BUCKET"], recursive=True)
        }


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    users = {"shared": SHARED_USER, "backup": OWN_USER}
    with seaweed(tmp_path_factory.mktemp("provider"), users) as address:
        yield address


@contextmanager
def installed(request: pytest.FixtureRequest, admin: Engine, user: tuple[str, str, str]) -> Iterator[Backups]:
    """Makes an installation with data and without backups. Its folder is not pytest's, because another user runs the
    server of the trial restore and must reach it.
    """
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o711)
    in_bucket = request.param == "bucket"
    kept = KeptInBucket(request.getfixturevalue("provider"), user) if in_bucket else KeptInFolder(folder)
    with cloned_databases(admin) as database_for, own_bucket() as bucket:
        made = Backups(folder, {service: database_for(service) for service in units.DATABASES}, bucket, kept)
        made.write(
            SERVICE,
            "CREATE TABLE kept AS SELECT n, E'a\\\\b\\n' || n AS word FROM generate_series(1, 50) AS n",
        )
        made.put("one/a.jpg", b"first")
        made.put("two/b.jpg", b"second")
        yield made
    shutil.rmtree(folder)


@pytest.fixture(params=["folder", "bucket"])
def installation(request: pytest.FixtureRequest, admin: Engine) -> Iterator[Backups]:
    """An installation without backups, which only this test uses."""
    with installed(request, admin, OWN_USER) as made:
        yield made


@pytest.fixture(scope="module", params=["folder", "bucket"])
def backed_up(request: pytest.FixtureRequest, admin: Engine) -> Iterator[Backups]:
    """An installation with one backup, for tests that change neither."""
    with installed(request, admin, SHARED_USER) as made:
        made.run("now")
        yield made


def test_a_backup_is_whole_unreadable_without_the_key_and_its_rehearsal_finds_every_row(
    backed_up: Backups,
) -> None:
    name = backed_up.run("list").strip()
    assert name == str(TODAY)
    stored = backed_up.kept.contents()
    assert {path.rpartition("/")[2] for path in stored} >= {"QUOTA.dump.bin", "began_at.bin", "a.jpg.bin"}
    assert len([path for path in stored if path.endswith(".dump.bin")]) == len(units.DATABASES)
    for path, words in stored.items():
        assert words[:8] == b"RCLONE\x00\x00", path
    said = backed_up.run("rehearse")
    assert "all restored" in said
    assert f"rehearsed: {name}" in said
    assert not (backed_up.folder / "work/rehearsal").exists()
    assert "password" in backed_up.run("rehearse", BACKUP_KEY="another key", code=1)


@pytest.mark.parametrize("installation", ["folder"], indirect=True)
def test_a_new_key_begins_anew_after_the_old_backups_were_moved_away(installation: Backups) -> None:
    """The steps for `BACKUP_KEY` in the table of docs/operations.md, "Keys"."""
    installation.run("now")
    folder = Path(installation.env["FOLDER"], "encrypted")
    moved = folder.rename(folder.with_name("of-the-old-key"))
    installation.run("now", BACKUP_KEY="the new key")
    assert "all restored" in installation.run("rehearse", BACKUP_KEY="the new key")
    assert "password" in installation.run("rehearse", code=1)
    folder.rename(folder.with_name("of-the-new-key"))
    moved.rename(folder)
    assert "all restored" in installation.run("rehearse")


@pytest.mark.parametrize("backed_up", ["bucket"], indirect=True)
def test_a_bucket_that_refuses_the_key_does_not_look_empty(backed_up: Backups) -> None:
    for command in ("list", "rehearse"):
        said = backed_up.run(command, BACKUP_S3_SECRET_KEY="another", code=1)
        assert "SignatureDoesNotMatch" in said
        assert "there is no backup yet" not in said


@pytest.mark.parametrize("backed_up", ["folder"], indirect=True)
def test_the_backup_of_the_day_stays_when_the_list_of_backups_cannot_be_read(
    backed_up: Backups, tmp_path: Path
) -> None:
    """The first list is refused, as in an outage of seconds. Otherwise a new machine would replace the backup from
    which it is about to be restored.
    """
    before = backed_up.kept.contents()
    rclone = tmp_path / "rclone"
    rclone.write_text(
        f"""#!/bin/sh
        if [ "$1" = lsf ] && mkdir {tmp_path}/refused; then exit 1; fi
        exec {shutil.which("rclone", path=backed_up.env["PATH"])} "$@"
        """
    )
    rclone.chmod(0o755)
    (tmp_path / "work").mkdir()
    env = backed_up.env | {
        "PATH": f"{tmp_path}{os.pathsep}{backed_up.env['PATH']}",
        "WORK": str(tmp_path / "work"),
        "BACKUP_HOUR": "0",
    }
    with subprocess.Popen(
        [FOLDER / "backup.sh"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as loop:
        assert loop.stdout
        said = next(line for line in loop.stdout if "next try" in line or "backed up" in line)
        loop.terminate()
    assert "the backup failed: next try in ten minutes" in said
    assert backed_up.kept.contents() == before


def test_before_the_first_backup_there_is_none(installation: Backups) -> None:
    assert installation.run("list") == ""
    assert "there is no backup yet" in installation.run("rehearse", code=1)


def test_a_rehearsal_that_restores_fewer_rows_fails_and_names_the_table(backed_up: Backups) -> None:
    folder = backed_up.folder / "scripts"
    shutil.copytree(FOLDER, folder)
    restore = folder / "restore.sh"
    losing = "[ $1 != QUOTA ] || echo 'DELETE FROM public.kept WHERE n > 40;'\n  echo \"COMMIT;"
    restore.write_text(restore.read_text().replace('echo "COMMIT;', losing))
    done = subprocess.run(
        [folder / "backup.sh", "rehearse"], env=backed_up.env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stdout
    assert "missing: QUOTA public.kept 50, restored 40" in done.stdout


def test_files_come_back_and_a_deleted_one_is_kept_as_long_as_a_dump_that_names_it(
    installation: Backups,
) -> None:
    installation.run("now")
    installation.files.remove_object(installation.bucket["S3_BUCKET"], "one/a.jpg")
    installation.run("now")
    removed = f"removed/{TODAY}/one/a.jpg.bin"
    [words] = [words for path, words in installation.kept.contents().items() if path.startswith("removed/")]
    assert installation.kept.contents()[removed] == words
    installation.files.remove_object(installation.bucket["S3_BUCKET"], "two/b.jpg")
    installation.run("restore-files")
    assert installation.names() == {"two/b.jpg"}
    # Older than every dump that is kept: nothing can name it.
    installation.kept.remove(removed)
    installation.kept.put("removed/2026-01-01/one/a.jpg.bin", words)
    installation.run("now")
    assert not [path for path in installation.kept.contents() if path.startswith("removed/")]


def test_seven_daily_four_weekly_and_six_monthly_backups_stay_where_they_are_kept(
    installation: Backups,
) -> None:
    """A file that was deleted after a backup is kept until every dump is newer than that. The test has such files of
    the same ages as the dumps: some of each age, because each that is deleted takes a process.
    """
    yesterday = TODAY - timedelta(days=1)
    earlier = [*days(9, yesterday), *days(34, yesterday)[14::5], *days(240, yesterday)[40::28]]
    for name in earlier:
        installation.kept.put(f"dumps/{name}/began_at.bin", b"RCLONE")
        installation.kept.put(f"removed/{name}/gone.jpg.bin", b"RCLONE")
    installation.run("now")
    kept = kept_by_rule({str(TODAY), *earlier})
    assert set(installation.run("list").split()) == kept
    of_files = {path.split("/")[1] for path in installation.kept.contents() if path.startswith("removed/")}
    assert of_files == {name for name in earlier if name >= min(kept)}


def test_the_dumps_of_a_day_are_fetched_for_a_restore(backed_up: Backups) -> None:
    backed_up.run("fetch", str(TODAY))
    fetched = backed_up.folder / "backup" / str(TODAY)
    assert (fetched / "QUOTA.dump").read_bytes()[:5] == b"PGDMP"
    assert (fetched / "began_at").read_text().startswith("20")


def test_without_a_key_nothing_is_written(installation: Backups) -> None:
    assert "BACKUP_KEY is not set" in installation.run("now", BACKUP_KEY="", code=1)
    assert installation.kept.contents() == {}


def test_it_backs_up_by_itself_and_does_not_replace_what_a_new_machine_is_restored_from(
    installation: Backups,
) -> None:
    last = installation.folder / "work/last"
    made = set()
    for _ in range(2):
        with subprocess.Popen([FOLDER / "backup.sh"], env=installation.env | {"BACKUP_HOUR": "0"}) as service:
            wait_until(lambda: last.exists() and last.read_text() == f"{TODAY}\n", "no backup was made", 60)
            service.terminate()
        assert service.returncode == 0
        # Encrypted with a new nonce each time.
        made.add(installation.kept.contents()[f"dumps/{TODAY}/began_at.bin"])
        last.unlink()
    assert len(made) == 1
