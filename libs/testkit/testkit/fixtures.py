"""A pytest plugin with fixtures for databases, virtual hosts of RabbitMQ, buckets, and services as real processes.

Needs TEST_DATABASE_URL (an administrator's), TEST_AMQP_URL and, for buckets, TEST_S3_URL with its keys, which `./dev
test` sets; otherwise the tests are skipped. Tests that run at the same time never share a virtual host.
"""

import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import pika
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine, make_url

from chassis import telemetry
from chassis.bus.topology import QUARANTINE_QUEUE, RETRY_SECONDS, event_queue, retry_queue, rpc_queue
from chassis.config import TelemetryConfig
from chassis.db import schema
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.message_keys import message_keys
from chassis.migrate import migrate, migrations_of
from chassis.signatures import Signatures
from contracts.errors import ApiError
from contracts.events import EVENTS, Event
from contracts.services import SERVICES
from testkit.any_sender import AnySender

if TYPE_CHECKING:
    from testkit.collector import Collector

START_SECONDS = 60.0
#: A process that has not ended this long after SIGTERM is killed.
_STOP_SECONDS = 60.0
#: The local stack's RabbitMQ has the virtual hosts tests-0, tests-1 …
VIRTUAL_HOSTS = 16
#: The secrets of the services that tests run or name. Their messages are signed as in production.
SECRETS = {
    name: hashlib.sha256(f"tests only: {name}".encode()).hexdigest()
    for name in (*SERVICES, "probe", "nobody")
}


def keys_for_tests(*names: str) -> str:
    """Returns the setting MESSAGE_KEYS of a process that may send as each of `names` (services, gateway or ctl)."""
    return ",".join(message_keys(name, SECRETS, SECRETS) for name in names)


def signed_by(sender: str) -> Signatures:
    """Returns the keys with which `sender` signs messages to any service in tests."""
    return Signatures.read(sender, keys_for_tests(sender))


def signed_event(event: Event) -> tuple[bytes, dict[str, str]]:
    """Returns the body and headers of an event, as its sender's outbox relay sends them."""
    body, route = msgspec.json.encode(event), EVENTS[event.event]
    return body, signed_by(route.sender).event_headers(route.receivers, body)


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


@cache
def _template(admin: Engine, service: str) -> str:
    """Returns the name of a migrated database that tests clone. It is made once for each state of the migrations."""
    files = [*sorted(migrations_of(service).glob("*.py")), Path(schema.__file__)]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    name = f"template_{service}_{state}"
    with admin.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(42)"))
        try:
            exists = connection.execute(
                text("SELECT 1 FROM pg_database WHERE datname = :n"), {"n": name}
            ).scalar()
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


@contextmanager
def cloned_databases(admin: Engine) -> Iterator[Callable[[str], str]]:
    """Yields a function: service → URL of a new, migrated database. All databases are dropped after the block."""
    made: list[str] = []

    def make(service: str) -> str:
        name = f"{service}_{new_id('t')[-20:]}"
        template = _template(admin, service)
        # FILE_COPY takes a fifth of the time of the default, WAL_LOG. A clone costs 13 ms of CPU from CREATE to DROP;
        # to empty a used database and use it again would cost 11.
        with admin.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY'))
        made.append(name)
        return _named(admin, name)

    yield make
    with admin.connect() as connection:
        for name in made:
            connection.execute(text(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'))


@pytest.fixture
def database_for(admin: Engine) -> Iterator[Callable[[str], str]]:
    """Returns a function: `database_for("quota")` → URL of a new, migrated database, dropped after the test."""
    with cloned_databases(admin) as make:
        yield make


@pytest.fixture
def open_database(database_for: Callable[[str], str]) -> Iterator[Callable[[str], Database]]:
    """Returns a function: `open_database("quota")` → a `Database` on a new, migrated database, closed at the end."""
    opened: list[Database] = []

    def make(service: str) -> Database:
        opened.append(Database(database_for(service)))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


@contextmanager
def own_virtual_host(admin: Engine, amqp_url: str) -> Iterator[str]:
    """Yields the AMQP URL of an empty virtual host. An advisory lock keeps other test processes out of it."""
    with admin.connect() as connection:
        for number in range(VIRTUAL_HOSTS):
            if connection.execute(text("SELECT pg_try_advisory_lock(4711, :n)"), {"n": number}).scalar():
                break
        else:
            pytest.fail("all virtual hosts for tests are taken")
        url = urlunsplit(urlsplit(amqp_url)._replace(path=f"/tests-{number}"))
        _empty(url)
        yield url


def _empty(url: str) -> None:
    queues = [QUARANTINE_QUEUE]
    for service in (*SERVICES, "probe", "nobody"):
        queues += [
            rpc_queue(service),
            event_queue(service),
            *(retry_queue(service, s) for s in RETRY_SECONDS),
        ]
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        for queue in queues:
            channel.queue_delete(queue)


@pytest.fixture
def virtual_host(admin: Engine, amqp_url: str) -> Iterator[str]:
    """The AMQP URL of an empty virtual host, which only this test uses."""
    with own_virtual_host(admin, amqp_url) as url:
        yield url


class RunningService:
    """A service that runs in a real process, with the services in `together_with`. Its methods are the service's RPC
    methods. AnySender sends each call in the name of a process that may make it.
    """

    def __init__(
        self,
        name: str,
        env: dict[str, str],
        bus: AnySender,
        api: type | None,
        *,
        together_with: Sequence[str] = (),
    ) -> None:
        self.name, self.env, self.bus, self.api = name, env, bus, api
        self._names = (name, *together_with)
        self._argv = [sys.executable, "-m", "chassis.run", *self._names]
        self.process = self._spawn()

    def __getattr__(self, method: str) -> Any:
        """Returns an RPC method of the service: `service.list_pages(caller, request)`."""
        return getattr(self.bus.service(self.name, self.api or SERVICES[self.name]), method)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._argv, env=self.env)

    def wait_ready(self) -> None:
        """Waits until every service of the process answers. Fails the test when the process dies or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                pytest.fail(f"{self.name} ended with {self.process.returncode} at start")
            try:
                for name in self._names:
                    self.bus.ping(name, timeout_seconds=1.0)
                return
            except ApiError:
                time.sleep(0.05)
        pytest.fail(f"{self.name} did not become ready")

    def kill(self) -> None:
        """Ends the process at once, with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        self.process = self._spawn()
        self.wait_ready()

    def terminate(self) -> int:
        """Sends SIGTERM, after 60 s SIGKILL. Returns the exit code."""
        self.process.terminate()
        try:
            return self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def _running(admin: Engine, virtual_host: str) -> Iterator[Callable[..., RunningService]]:
    started: list[RunningService] = []
    bus = AnySender(virtual_host, SECRETS)

    def start(name: str, env: dict[str, str] | None = None, api: type | None = None) -> RunningService:
        settings = {
            **os.environ,
            "DATABASE_URL": make_database(name),
            "AMQP_URL": virtual_host,
            "MESSAGE_KEYS": keys_for_tests(name),
            "CLOCK_SHIFT_ALLOWED": "true",
            "HEALTH_PORT": "0",
            "PYTHONPATH": os.pathsep.join(sys.path),
            **(env or {}),
        }
        service = RunningService(name, settings, bus, api)
        started.append(service)
        service.wait_ready()
        return service

    with cloned_databases(admin) as make_database:
        yield start
        for service in started:
            service.terminate()
        bus.close()


@pytest.fixture
def running_service(admin: Engine, virtual_host: str) -> Iterator[Callable[..., RunningService]]:
    """Returns a function: `running_service("quota", env={…})` → the service on a new database, until the test ends."""
    with _running(admin, virtual_host) as start:
        yield start


@pytest.fixture(scope="module")
def shared_service(admin: Engine, amqp_url: str) -> Iterator[Callable[..., RunningService]]:
    """Like `running_service`, but runs until the end of the test module. For tests that do not change the service."""
    with own_virtual_host(admin, amqp_url) as virtual_host, _running(admin, virtual_host) as start:
        yield start


@pytest.fixture
def recording() -> "Iterator[Collector]":
    """Yields a collector of the test's own spans in sampled traces. Call `telemetry.stop()` to send the last ones."""
    from testkit.collector import Collector

    with Collector() as collector:
        telemetry.start("tests", TelemetryConfig(endpoint=collector.url, sampler="parentbased_always_off"))
        yield collector
        telemetry.stop(10.0)


@pytest.fixture
def seeds() -> range:
    """Returns the seeds to run: 0 to 99, or 0 to 1999 with FULL_SIZE=1. If INTERLEAVING_SEED is set, returns only its
    seeds: `7` means one seed, `7:12` means 7 to 11."""
    only = os.environ.get("INTERLEAVING_SEED")
    if only:
        first, _, end = only.partition(":")
        return range(int(first), int(end or int(first) + 1))
    return range(2_000 if os.environ.get("FULL_SIZE") else 100)


@pytest.fixture
def free_port() -> int:
    """Returns a port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def bucket() -> Iterator[dict[str, str]]:
    """Yields the environment variables of a service that stores objects, for a new bucket of this test."""
    with own_bucket() as settings:
        yield settings


@pytest.fixture(scope="module")
def shared_bucket() -> Iterator[dict[str, str]]:
    """Yields the environment variables of a service that stores objects, for a new bucket of this test module."""
    with own_bucket() as settings:
        yield settings


@contextmanager
def own_bucket() -> Iterator[dict[str, str]]:
    """Yields S3_URL, S3_BUCKET and the other environment variables for a new bucket, which is removed afterwards."""
    url = os.environ.get("TEST_S3_URL")
    if not url:
        pytest.skip("TEST_S3_URL is not set: run ./dev test")
    from minio import Minio  # not installed for every package: only services that store objects need it

    keys = {name: os.environ[f"TEST_{name}"] for name in ("S3_ACCESS_KEY", "S3_SECRET_KEY")}
    name = f"tests-{new_id('b')[-20:]}"
    client = Minio(
        urlsplit(url).netloc,
        access_key=keys["S3_ACCESS_KEY"],
        secret_key=keys["S3_SECRET_KEY"],
        region="us-east-1",
        secure=url.startswith("https:"),
    )
    client.make_bucket(name)
    yield {"S3_URL": url, "S3_BUCKET": name, "S3_REGION": "us-east-1", **keys}
    for found in client.list_objects(name, recursive=True):
        client.remove_object(name, str(found.object_name))
    with suppress(Exception):  # a multipart upload that a test left open prevents this
        client.remove_bucket(name)


@pytest.fixture
def certificate_for(tmp_path: Path) -> Callable[[str], Path]:
    """Returns a function: `certificate_for("localhost")` → PEM file with a key and a self-signed certificate."""
    return lambda name: certificate_of(tmp_path, name)


def certificate_of(folder: Path, *names: str) -> Path:
    """Writes a PEM file with a key and a self-signed certificate for these host names. Returns its path."""
    from cryptography import x509  # not installed for every package that uses these fixtures
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    plain = serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
