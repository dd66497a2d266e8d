"""`python -m chassis.migrate <service>…` migrates the databases of services to their newest revision.

The database of a single service is named by DATABASE_URL; those of several services by DATABASE_URL_<SERVICE>. The
revisions are in the folder `migrations/` beside the service's package, or inside the package if it is installed.
Replicas may run the command at the same time; an advisory lock serialises them. Each revision has its own transaction,
so that its locks are released before the next one begins, and an interrupted upgrade continues where it stopped. A
statement of a revision waits at most 10 s for a lock. The indexes that a revision names are built before it, without
locking out writers (`chassis.db.indexes`).
"""

import importlib.util
import sys
import time
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from chassis import config
from chassis.db import indexes
from chassis.telemetry import logs

log = structlog.get_logger()

_LOCK = 0x706F7374  # any constant of ours
#: How often a waiting process asks for the lock: short compared with any migration.
_TURN_SECONDS = 0.2


def migrations_of(service: str) -> Path:
    """Returns the folder of a service's revisions. Raises SystemExit if there is no such service."""
    spec = importlib.util.find_spec(service)
    if spec is None or spec.origin is None:
        raise SystemExit(f"there is no service named {service!r}")
    package = Path(spec.origin).parent
    installed = package / "migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def migrate(service: str, url: str) -> None:
    """Runs the missing migrations of `service` on the database at `url`."""
    alembic = Config()
    alembic.set_main_option("script_location", str(Path(__file__).parent / "db" / "alembic_env"))
    alembic.set_main_option("version_locations", str(migrations_of(service)))
    alembic.set_main_option("path_separator", "os")
    engine = create_engine(config.database_url(url), connect_args={"options": "-c lock_timeout=10000"})
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
            _take_turn(session)
            session.execute(text("SET lock_timeout = 0; SET statement_timeout = 0"))
            for revision in _pending(session, alembic):
                indexes.build(session, getattr(revision.module, "INDEXES", {}))
                indexes.drop(session, getattr(revision.module, "DROPS", ()))
                with engine.begin() as connection:
                    alembic.attributes["connection"] = connection
                    command.upgrade(alembic, revision.revision)
    finally:
        engine.dispose()


def _take_turn(session: Connection) -> None:
    """Takes the advisory lock that keeps other processes from migrating this database, for as long as the session
    lasts.

    Asks for the lock again and again. A statement that waited for it would hold a snapshot, and then the process that
    has the lock could not finish building an index, which waits until older snapshots end.
    """
    while not session.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": _LOCK}).scalar_one():
        time.sleep(_TURN_SECONDS)


def _pending(session: Connection, alembic: Config) -> list[Script]:
    """Returns the revisions that the database does not have yet, in order."""
    scripts = ScriptDirectory.from_config(alembic)
    here = MigrationContext.configure(session).get_current_heads()
    return list(reversed(list(scripts.iterate_revisions("head", here or "base"))))


def main() -> None:
    names = sys.argv[1:]
    if not names:
        raise SystemExit("usage: python -m chassis.migrate <service>…")
    try:
        urls = [config.service_database_url(name if len(names) > 1 else None) for name in names]
    except config.ConfigError as error:
        raise SystemExit(f"migrate: {error}") from None
    logs.configure("migrate")
    for name, url in zip(names, urls, strict=True):
        migrate(name, url)
        log.info("database_is_up_to_date", database=name)


if __name__ == "__main__":
    main()
