"""TLS to real PostgreSQL and RabbitMQ: only valid certificates are accepted, and nothing is sent in plain text.

PostgreSQL is Debian's here: the local stack's is built without TLS. RabbitMQ runs with the settings of compose.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from deploy_kit import free_port, wait_until
from probe.api import ProbeApi, Words
from structlog.testing import capture_logs

from chassis import config
from chassis.bus import amqp
from chassis.bus.link import Link
from chassis.db.database import Database
from contracts.caller import Caller
from contracts.errors import ApiError
from local.paths import ROOT
from local.processes.table import NotReady, start_supervisor, stop_supervisor, wait_ready, write_table
from local.servers import certificates, packages, ports, postgres, rabbitmq
from testkit.faulty_link import FaultyLink

CALLER = Caller(account_id="usr_1", user_id="usr_1")
#: The servers' certificates are valid for this name and for no other, an address included.
HOST, ANOTHER_NAME_OF_IT = "localhost", "127.0.0.1"
COMPOSE = ROOT / "deploy" / "compose"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the servers' certificates and their authority."""
    folder = tmp_path_factory.mktemp("certificates")
    return certificates.make(folder, *(f"{server},{HOST}" for server in ("postgres", "rabbitmq")))


@pytest.fixture(scope="module")
def another_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.make(tmp_path_factory.mktemp("another"), "unused")


def programs() -> Path | None:
    """The folder of the system's newest PostgreSQL programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@dataclass
class EncryptedPostgres:
    """A PostgreSQL server that accepts passwords only over TLS."""

    socket: Path
    port: int

    def url(self, user: str, database: str, host: str = HOST) -> str:
        return f"postgresql://{user}:secret@{host}:{self.port}/{database}"

    def admin(self, statement: str, database: str = "postgres") -> list[Any]:
        """Runs a statement through the socket, so also while TLS is off."""
        with closing(
            psycopg2.connect(host=str(self.socket), port=self.port, user=postgres.USER, dbname=database)
        ) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []

    def switch_tls(self, state: str) -> None:
        self.admin(f"ALTER SYSTEM SET ssl = {state}")
        self.admin("SELECT pg_reload_conf()")
        wait_until(lambda: self.admin("SHOW ssl") == [(state,)], f"TLS is {state}")

    def encrypted(self, database: str) -> list[bool]:
        """Returns for each network connection whether it is encrypted."""
        rows = self.admin(
            "SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)"
            f" WHERE a.datname = '{database}' AND a.client_addr IS NOT NULL"
        )
        return [row[0] for row in rows]


@pytest.fixture(scope="module")
def server(authority: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EncryptedPostgres]:
    try:
        packages.install(("postgresql",), programs, "the package postgresql is needed for these tests", print)
    except NotReady as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    found = programs()
    assert found is not None
    data, port = tmp_path_factory.mktemp("pg") / "data", free_port()
    postgres.own(data)
    command = [str(found / "initdb"), "--pgdata", str(data), "--username", postgres.USER, "--auth", "trust"]
    subprocess.run(
        postgres.as_owner(*command, "--locale", "C.UTF-8", "--no-sync"),
        check=True, capture_output=True, cwd="/", timeout=60,
    )  # fmt: skip
    for kind in ("crt", "key"):
        copy = data / f"server.{kind}"
        copy.write_bytes((authority / f"postgres.{kind}").read_bytes())
        copy.chmod(0o600)
        os.chown(copy, data.stat().st_uid, -1)
    rules = (COMPOSE / "pg_hba_tls.conf").read_text().splitlines(keepends=True)
    (data / "pg_hba.conf").write_text("".join(line for line in rules if "127.0.0.1" not in line))
    settings = {
        "ssl": "on",
        "ssl_cert_file": "server.crt",
        "ssl_key_file": "server.key",
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": str(data),
        "fsync": "off",
        "shared_buffers": "16MB",
        "max_connections": "40",
    }
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    process = subprocess.Popen(postgres.as_owner(str(found / "postgres"), "-D", str(data)), cwd="/")
    server = EncryptedPostgres(data, port)

    def answers() -> bool:
        try:
            return bool(server.admin("SELECT true"))
        except psycopg2.OperationalError:
            return False

    try:
        wait_until(answers, "PostgreSQL answers", seconds=30)
        server.admin(f"ALTER ROLE {postgres.USER} PASSWORD 'secret'")
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


@pytest.fixture(scope="module")
def database(server: EncryptedPostgres, authority: Path) -> str:
    """The URL of the probe's database, which was created over TLS."""
    url = server.url("posthaste_probe", "probe")
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ADMIN_DATABASE_URL": server.url(postgres.USER, "postgres"),
        "DATABASE_URL_PROBE": url,
        "DATABASE_URL": url,
        "DATABASE_TLS_CA": str(authority / "ca.crt"),
    }
    for command in ("database_roles", "migrate"):
        argv = [sys.executable, "-m", f"chassis.{command}", "probe"]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    return url


@pytest.fixture(scope="module")
def broker(authority: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The TLS port of a RabbitMQ without a plain listener."""
    run = tmp_path_factory.mktemp("broker")
    rabbitmq.install(print)
    port = ports.choose(run, dict.fromkeys(("amqp", "amqp_node", "amqp_names")))
    rabbitmq.prepare(run, port=port["amqp"], test_vhosts=False)
    settings = (COMPOSE / "rabbitmq-tls.conf").read_text().replace("/run/tls/server", f"{authority}/rabbitmq")
    settings = settings.replace("= 5671\n", f"= 127.0.0.1:{port['amqp']}\n")
    path = run / "rabbitmq" / "rabbitmq.conf"
    ours = [line for line in path.read_text().splitlines(keepends=True) if "listeners.tcp" not in line]
    path.write_text("".join(ours) + settings)
    write_table(run, rabbitmq.processes(run, port))
    start_supervisor(run, owner_pid=os.getpid())
    try:
        wait_ready(run, seconds=60, tell=print)
        yield port["amqp"]
    finally:
        stop_supervisor(run)


def amqps(port: int, authority: Path, host: str = HOST) -> str:
    return f"amqps://guest:guest@{host}:{port}/%2F?cacertfile={authority}/ca.crt"


@pytest.fixture
def to_broker(broker: int) -> Iterator[FaultyLink]:
    link = FaultyLink(("127.0.0.1", broker))
    yield link
    link.close()


@pytest.fixture
def virtual_host(to_broker: FaultyLink, authority: Path) -> str:
    """The broker's URL for the services of these tests."""
    return amqps(to_broker.port, authority)


def answers(probe: Any) -> bool:
    try:
        return bool(probe.echo(CALLER, Words(text="hällo"), timeout_seconds=0.5).text == "hällo")
    except ApiError:
        return False


def test_a_service_works_over_tls_and_goes_on_over_tls_after_its_connections_were_lost(
    running_service: Callable[..., Any],
    server: EncryptedPostgres,
    database: str,
    authority: Path,
    to_broker: FaultyLink,
) -> None:
    env = {"DATABASE_URL": database, "DATABASE_TLS_CA": str(authority / "ca.crt")}
    probe = running_service("probe", env, api=ProbeApi)
    assert probe.write(CALLER, Words(text="kept"), timeout_seconds=5.0)
    large = "x" * 200_000  # many TLS records, in both directions
    assert probe.echo(CALLER, Words(text=large), timeout_seconds=5.0).text == large
    assert set(server.encrypted("probe")) == {True}

    to_broker.cut()
    server.admin(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'posthaste_probe'"
    )
    wait_until(lambda: answers(probe), "it answers again")
    assert probe.count(CALLER, Words(text="kept"), timeout_seconds=5.0).count == 1
    assert set(server.encrypted("probe")) == {True}


CLIENT_OF_THE_GATEWAY_S_KIND = """
from chassis.runtime import green
green.patch()
import sys
from chassis import config
from chassis.db.database import Database, fetch
from chassis.bus.link import Link

database = Database(config.service_database_url(), pool_size=2)
with database.reading() as connection:
    print(fetch(connection, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
link = Link(config.amqp_url(), "test", lambda channel: None)
link.start()
print(link.wait_open(10))
link.stop()
"""


def test_so_does_a_process_of_the_gateway_s_kind(database: str, authority: Path, broker: int) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DATABASE_URL": database,
        "DATABASE_TLS_CA": str(authority / "ca.crt"),
        "AMQP_URL": f"amqps://guest:guest@{HOST}:{broker}/%2F",
        "AMQP_TLS_CA": str(authority / "ca.crt"),
    }
    done = subprocess.run(
        [sys.executable, "-c", CLIENT_OF_THE_GATEWAY_S_KIND],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["[(True,)]", "True"], done.stderr


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("another authority", "certificate verify failed"),
        ("another host name", 'does not match host name "127.0.0.1"'),
        ("plain text", "server does not support SSL, but SSL was required"),
    ],
)
def test_a_database_that_is_not_the_one_is_not_talked_to(
    case: str,
    reason: str,
    server: EncryptedPostgres,
    database: str,
    authority: Path,
    another_authority: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = ANOTHER_NAME_OF_IT if case == "another host name" else HOST
    folder = another_authority if case == "another authority" else authority
    monkeypatch.setenv("DATABASE_URL", server.url("posthaste_probe", "probe", host))
    monkeypatch.setenv("DATABASE_TLS_CA", str(folder / "ca.crt"))
    if case == "plain text":
        server.switch_tls("off")
    try:
        opened = Database(config.service_database_url())
        with pytest.raises(ApiError) as refused:
            opened.ping()
        assert reason in str(refused.value.__cause__)
    finally:
        server.switch_tls("on")
    opened.close()


def test_a_connection_that_is_made_again_is_never_made_in_plain_text(
    server: EncryptedPostgres, database: str, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("DATABASE_TLS_CA", str(authority / "ca.crt"))
    opened = Database(config.service_database_url(), pool_size=1)
    opened.ping()
    server.switch_tls("off")
    server.admin(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'posthaste_probe'"
    )
    try:
        with pytest.raises(ApiError):
            opened.ping()
    finally:
        server.switch_tls("on")
    opened.ping()
    assert server.encrypted("probe") == [True]
    opened.close()


def failures(logged: list[Any]) -> list[str]:
    """Returns why a connection to the broker failed."""
    tried = [entry for entry in logged if entry["event"] in ("link_lost", "link_failed")]
    return [str(entry.get("reason", entry.get("error"))) for entry in tried]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("another authority", "certificate verify failed"),
        ("another host name", "IP address mismatch"),
        ("plain text", "wrong version number"),
    ],
)
def test_a_broker_that_is_not_the_one_is_not_talked_to(
    case: str, reason: str, broker: int, amqp_url: str, authority: Path, another_authority: Path
) -> None:
    host = ANOTHER_NAME_OF_IT if case == "another host name" else HOST
    folder = another_authority if case == "another authority" else authority
    port = amqp.parameters(amqp_url).port if case == "plain text" else broker
    with capture_logs() as logged:
        link = Link(amqps(port, folder, host), "test", lambda _channel: None)
        link.start()
        wait_until(lambda: failures(logged), "it has been tried")
        assert not link.is_open
        link.stop()
    assert reason in failures(logged)[0]


def test_a_link_that_is_lost_is_never_made_again_in_plain_text(
    to_broker: FaultyLink, broker: int, amqp_url: str, virtual_host: str
) -> None:
    with capture_logs() as logged:
        link = Link(virtual_host, "test", lambda _channel: None)
        link.start()
        assert link.wait_open(10)
        to_broker.lead_to(("127.0.0.1", amqp.parameters(amqp_url).port))
        to_broker.cut()
        wait_until(lambda: any("wrong version number" in it for it in failures(logged)), "it has been tried")
        assert not link.is_open
        to_broker.lead_to(("127.0.0.1", broker))
        wait_until(lambda: link.is_open, "it is back")
        link.stop()
