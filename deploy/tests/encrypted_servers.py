"""PostgreSQL and RabbitMQ that accept only encrypted connections, with the settings of compose.

PostgreSQL is Debian's here, because the local stack's is built without TLS.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from deploy_kit import wait_until

from chassis.broker_access import PROCESSES
from chassis.bus import amqp
from chassis.bus.frames import decode_replies
from local.paths import ROOT
from local.processes.table import NotReady, start_supervisor, stop_supervisor, wait_ready, write_table
from local.servers import packages, ports, postgres, rabbitmq
from testkit.by_hand import replies_to

#: The servers' certificates are valid for this name and for no other, an address included.
HOST, ANOTHER_NAME_OF_IT = "localhost", "127.0.0.1"
#: Of every role and broker user.
PASSWORD = "secret"
COMPOSE = ROOT / "deploy" / "compose"


def programs() -> Path | None:
    """Returns the folder of the system's newest PostgreSQL programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@dataclass
class EncryptedPostgres:
    """A PostgreSQL server that accepts passwords only over TLS."""

    socket: Path
    port: int

    def url(self, user: str, database: str, host: str = HOST) -> str:
        return f"postgresql://{user}:{PASSWORD}@{host}:{self.port}/{database}"

    def admin(self, statement: str, database: str = "postgres") -> list[Any]:
        """Runs a statement through the socket, which works even while TLS is off."""
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
        """Returns, for each network connection, whether it is encrypted."""
        rows = self.admin(
            "SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)"
            f" WHERE a.datname = '{database}' AND a.client_addr IS NOT NULL"
        )
        return [row[0] for row in rows]


@contextmanager
def postgres_with_tls(authority: Path, data: Path) -> Iterator[EncryptedPostgres]:
    """Runs PostgreSQL in a new folder with the rules of compose. Skips the test if the system has no PostgreSQL."""
    try:
        packages.install(("postgresql",), programs, "the package postgresql is needed for these tests", print)
    except NotReady as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    found = programs()
    assert found is not None
    port = ports.any_free()
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
        server.admin(f"ALTER ROLE {postgres.USER} PASSWORD '{PASSWORD}'")
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


@contextmanager
def rabbitmq_with_tls(authority: Path, run: Path) -> Iterator[int]:
    """Runs a RabbitMQ without a plain listener, and yields its TLS port. It has a user for each process."""
    rabbitmq.install(print)
    port = ports.choose(run, dict.fromkeys(("amqp", "amqp_node", "amqp_names")))
    rabbitmq.prepare(run, port=port["amqp"], test_vhosts=False, passwords=dict.fromkeys(PROCESSES, PASSWORD))
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


def make_databases(
    server: EncryptedPostgres, authority: Path, urls: Mapping[str, str], *, migrated: str
) -> None:
    """Creates the roles and databases over TLS with the commands of a deployment. Migrates the database `migrated`."""
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ADMIN_DATABASE_URL": server.url(postgres.USER, "postgres"),
        "DEDICATED_DATABASE_SERVER": "true",
        "DATABASE_TLS_CA": str(authority / "ca.crt"),
        "DATABASE_URL": urls[migrated],
        **{f"DATABASE_URL_{name.upper()}": url for name, url in urls.items()},
    }
    for command, *names in (("database_roles", *urls), ("migrate", migrated)):
        argv = [sys.executable, "-m", f"chassis.{command}", *names]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr


def user_url(port: int, authority: Path, user: str) -> str:
    return f"amqps://{user}:{PASSWORD}@{HOST}:{port}/%2F?cacertfile={authority}/ca.crt"


def answer_to(url: str, body: bytes, signature: str | None) -> str:
    """Sends a frame to quota by hand, and returns why it was refused."""
    [reply] = decode_replies(replies_to(amqp.parameters(url), "quota", body, signature)).replies
    assert reply.error is not None
    return str(reply.error.extras["refused"])
