"""Runs a PostgreSQL that only this benchmark uses, with a migrated database for each service and each set."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2

from chassis.db.database import Database
from chassis.migrate import migrate
from local.processes.table import start_supervisor, stop_supervisor, wait_ready, write_table
from local.servers import postgres

SERVICES = ("publishing", "quota", "webhooks")
SETS = ("small", "full")
#: Settings of PostgreSQL: the memory of a production server, and settings that make seeding quick. Autovacuum is off,
#: because it might start while only one set is measured; VACUUM and ANALYZE run once after seeding.
_SIZES = {
    "shared_buffers": "1GB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "autovacuum": "off",
}
_START_SECONDS = 60.0


@contextmanager
def running(run: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Runs the server during the block. Its databases `<service>_<set>` are migrated and empty."""
    run.mkdir(parents=True, exist_ok=True)
    names = [name_of(service, each) for service in SERVICES for each in SETS]
    postgres.prepare(run, durable=False, sizes=_SIZES)
    write_table(run, postgres.processes(run, {name: url_of(run, name) for name in names}))
    start_supervisor(run, owner_pid=os.getpid())
    try:
        wait_ready(run, seconds=_START_SECONDS, tell=tell)
        for service in SERVICES:
            for each in SETS:
                migrate(service, url_of(run, name_of(service, each)))
        yield
    finally:
        stop_supervisor(run)


def name_of(service: str, each: str) -> str:
    return f"{service}_{each}"


def url_of(run: Path, name: str) -> str:
    """Returns the URL of a database, with the role that owns only this database, as each service has one."""
    return postgres.service_url(run, name, password=name)


class Opened:
    """One service's database in one set. The classes for publishing, quota and webhooks derive from it."""

    def __init__(self, run: Path, service: str, each: str) -> None:
        self.name = name_of(service, each)
        self.url = url_of(run, self.name)
        #: An administrator's URL, for seeding: a service's own role may not disable triggers.
        self.admin_url = postgres.url(run, self.name)
        self.database = Database(self.url)
        self._statistics = Statistics(postgres.url(run, "postgres"), self.name)

    def close(self) -> None:
        self.database.close()
        self._statistics.close()

    def run_sql(self, statement: str) -> list[tuple[object, ...]]:
        """Runs SQL that prepares or counts rows. Returns the rows, if there are any."""
        with self.database.reading() as connection:
            result = connection.exec_driver_sql(statement)
            return [tuple(row) for row in result] if result.returns_rows else []

    def blocks(self, work: Callable[[], object]) -> int:
        """Returns how many blocks PostgreSQL reads, from memory or disk, for this work. The work must use only the
        connection that the pool used last.
        """
        self._flush()
        before = self._statistics.blocks()
        work()
        self._flush()
        return self._statistics.blocks() - before

    def row_versions(self) -> int:
        """Returns how many rows have been inserted and updated so far, in all tables.

        First closes the pool's connections, because PostgreSQL counts the rows of a connection when it ends.
        """
        self.database.engine.dispose()
        self._statistics.wait_alone()
        return int(str(self.run_sql("SELECT sum(n_tup_ins + n_tup_upd) FROM pg_stat_user_tables")[0][0]))

    def _flush(self) -> None:
        self.run_sql("SELECT pg_stat_force_next_flush()")


class Statistics:
    """Reads PostgreSQL's statistics of one database, through a connection to another database."""

    def __init__(self, admin_url: str, name: str) -> None:
        self._connection = psycopg2.connect(admin_url.replace("+psycopg2", ""))
        self._connection.autocommit = True
        self._name = name

    def blocks(self) -> int:
        return self._count("SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = %s")

    def wait_alone(self) -> None:
        """Waits until no session is connected to the database, because PostgreSQL counts the last rows of a session
        when it ends.
        """
        give_up_at = time.monotonic() + _START_SECONDS
        while self._count("SELECT count(*) FROM pg_stat_activity WHERE datname = %s"):
            if time.monotonic() > give_up_at:
                raise SystemExit(f"somebody stays connected to {self._name}: its counts are not whole")
            time.sleep(0.02)

    def close(self) -> None:
        self._connection.close()

    def _count(self, statement: str) -> int:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, (self._name,))
            return int(cursor.fetchone()[0])  # type: ignore[index]
