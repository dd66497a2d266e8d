"""`python -m chassis.migrate <service>…`: brings the service's database to its newest revision; or those of several,
each under its DATABASE_URL_<SERVICE>.

The versions lie beside the service's package, in `migrations/`; an installed service has them inside it.
Replicas may start it at the same time: an advisory lock lets one go first. Each statement gives up after 10 s
of waiting for a lock.
"""

import importlib.util
import sys
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

from chassis import config, logs

log = structlog.get_logger()

_LOCK = 0x706F7374  # any constant of ours


def migrations_of(service: str) -> Path:
    """The folder of a service's versions."""
    spec = importlib.util.find_spec(service)
    if spec is None or spec.origin is None:
        raise SystemExit(f"there is no service named {service!r}")
    package = Path(spec.origin).parent
    installed = package / "migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def migrate(service: str, url: str) -> None:
    """Runs the missing migrations of `service` on the database at `url`."""
    alembic = Config()
    alembic.set_main_option("script_location", str(Path(__file__).parent / "alembic_env"))
    alembic.set_main_option("version_locations", str(migrations_of(service)))
    alembic.set_main_option("path_separator", "os")
    engine = create_engine(config.database_url(url), connect_args={"options": "-c lock_timeout=10000"})
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            alembic.attributes["connection"] = connection
            command.upgrade(alembic, "head")
    finally:
        engine.dispose()


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
