"""The test kit, a pytest plugin: databases cloned from migrated templates, and services run as real processes.

Needs TEST_DATABASE_URL (an administrator's) and TEST_AMQP_URL, which `./dev test` sets; without them the
tests that ask for these fixtures are skipped. Each test process works in a virtual host of its own.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine, make_url

from chassis.database import Database
from chassis.ids import new_id
from chassis.migrate import migrate, migrations_of
from chassis.rpc import Bus, connect
from contracts.errors import ApiError

START_SECONDS = 30.0


@pytest.fixture(scope="session")
def admin_url() -> str:
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        pytest.skip("TEST_DATABASE_URL is not set: run ./dev test")
    return url


@pytest.fixture(scope="session")
def amqp_url() -> str:
    url = os.environ.get("TEST_AMQP_URL")
    if not url:
        pytest.skip("TEST_AMQP_URL is not set: run ./dev test")
    return url


@pytest.fixture(scope="session")
def admin(admin_url: str) -> Iterator[Engine]:
    engine = create_engine(admin_url, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


def _template(admin: Engine, service: str) -> str:
    """A migrated database of this service, made once per state of its migrations."""
    files = sorted(migrations_of(service).glob("*.py"))
    schema = Path(__file__).parent / "schema.py"
    state = hashlib.sha256(b"".join(path.read_bytes() for path in [*files, schema])).hexdigest()[:12]
    name = f"template_{service}_{state}"
    with admin.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(42)"))
        try:
            exists = connection.execute(text("SELECT 1 FROM pg_database WHERE datname = :n"), {"n": name}).scalar()
            if not exists:
                building = f"{name}_building"
                connection.execute(text(f'DROP DATABASE IF EXISTS "{building}" WITH (FORCE)'))
                connection.execute(text(f'CREATE DATABASE "{building}"'))
                migrate(service, _named(admin, building))
                connection.execute(text(f'ALTER DATABASE "{building}" RENAME TO "{name}"'))
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(42)"))
    return name


def _named(admin: Engine, database: str) -> str:
    return make_url(admin.url).set(database=database).render_as_string(hide_password=False)


@pytest.fixture
def database_for(admin: Engine) -> Iterator[Callable[[str], str]]:
    """`database_for("quota")` → URL of a fresh, migrated database, dropped after the test."""
    made: list[str] = []

    def make(service: str) -> str:
        name = f"{service}_{new_id('t')[-20:]}"
        template = _template(admin, service)
        with admin.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
        made.append(name)
        return _named(admin, name)

    yield make
    with admin.connect() as connection:
        for name in made:
            connection.execute(text(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'))


@pytest.fixture
def open_database(database_for: Callable[[str], str]) -> Iterator[Callable[[str], Database]]:
    """`open_database("quota")` → a Database on a fresh clone."""
    opened: list[Database] = []

    def make(service: str) -> Database:
        opened.append(Database(database_for(service)))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


@pytest.fixture
def virtual_host(amqp_url: str) -> Iterator[str]:
    """The AMQP URL of a virtual host that only this test uses (by RabbitMQ's management of names: one per test)."""
    host = new_id("test")
    _rabbitmqctl("add_vhost", host)
    _rabbitmqctl("set_permissions", "-p", host, urlsplit(amqp_url).username or "guest", ".*", ".*", ".*")
    parts = urlsplit(amqp_url)
    yield urlunsplit(parts._replace(path=f"/{quote(host, safe='')}"))
    _rabbitmqctl("delete_vhost", host)


def _rabbitmqctl(*arguments: str) -> None:
    command = os.environ.get("TEST_RABBITMQCTL", "rabbitmqctl").split()
    subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=60)


class RunningService:
    """A service as a real process; `bus` is a client connected to the same broker."""

    def __init__(self, name: str, env: dict[str, str], bus: Bus) -> None:
        self.name, self._env, self.bus = name, env, bus
        self.process = self._spawn()

    def __getattr__(self, method: str) -> Any:
        """`service.list_pages(caller, request)`: the typed client's methods."""
        return getattr(self.bus.service(self.name), method)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-m", "chassis.run", self.name], env=self._env)

    def wait_ready(self) -> None:
        """Returns when the service answers; fails the test when it has died or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                pytest.fail(f"{self.name} ended with {self.process.returncode} at start")
            try:
                self.bus.ping(self.name, timeout_seconds=1.0)
                return
            except ApiError:
                time.sleep(0.05)
        pytest.fail(f"{self.name} did not become ready")

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.process = self._spawn()
        self.wait_ready()

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        try:
            return self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@pytest.fixture
def running_service(
    database_for: Callable[[str], str], virtual_host: str
) -> Iterator[Callable[..., RunningService]]:
    """`running_service("quota", env={…})` → the service, started on a fresh database; stopped after the test."""
    started: list[RunningService] = []
    buses: list[Bus] = []

    def start(name: str, env: dict[str, str] | None = None) -> RunningService:
        if not buses:
            buses.append(connect(virtual_host, "test"))
        settings = {
            **os.environ,
            "DATABASE_URL": database_for(name),
            "AMQP_URL": virtual_host,
            "CLOCK_SHIFT_ALLOWED": "true",
            "HEALTH_PORT": "0",
            "PYTHONPATH": os.pathsep.join(sys.path),
            **(env or {}),
        }
        service = RunningService(name, settings, buses[0])
        started.append(service)
        service.wait_ready()
        return service

    yield start
    for service in started:
        service.terminate()
    for bus in buses:
        bus.close()
