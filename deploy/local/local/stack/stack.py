"""Starts and stops one stack: servers, simulator, services and a demo account, in one run directory.

`./dev up` has its stack in `.run`; each run of tests or benchmarks has one in `.run-test`.
"""

import base64
import fcntl
import json
import os
import secrets
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chassis.broker_access import PROCESSES
from chassis.message_keys import all_message_keys
from contracts.senders import CTL
from local.environment import SOURCED, read_env, write_env
from local.processes.table import (
    NotReady,
    Process,
    start_supervisor,
    stop_supervisor,
    supervisor_pid,
    wait_ready,
    write_table,
)
from local.servers import mail, ports, postgres, rabbitmq, storage
from local.stack import account, compact, units

#: How long every process has to answer. A slow machine's first start takes longer than the 20 s that are the goal.
READY_SECONDS = 120.0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Stack:
    """One stack. Its paths and addresses depend only on the run directory, so that a later command finds it."""

    run: Path
    #: Survives a crash of the machine. False: much faster on slow disks.
    durable: bool = True
    #: Tries the usual ports first; False takes any, so that several stacks live side by side.
    usual_ports: bool = True
    #: No loopback addresses for webhooks.
    strict: bool = False
    #: Stripe, which the simulator plays, takes payments. False: the operator grants credits.
    payments: bool = False
    #: All services in one process, and everything small.
    compact: bool = False
    #: The simulator's platforms take as long as the real ones.
    slow: bool = False

    def up(self, tell: Tell, *, owner_pid: int | None = None) -> bool:
        """Starts everything and writes `env`. Returns False if the stack was already running with the same settings.
        Raises NotReady if it does not become ready.

        If `owner_pid` is given, everything stops when that process ends.
        """
        self.make_folder()
        with self.alone():
            started = self.start(tell, owner_pid)
            try:
                wait_ready(self.run, seconds=READY_SECONDS, tell=tell if started else lambda _: None)
                rabbitmq.note_started(self.run)
                wait_answers(read_env(self.run)["BASE_URL"].removesuffix("/api/v1") + "/readyz")
                account.complete(self.run, tell)
            except BaseException:
                if started:  # all or nothing
                    self.down()
                raise
        return started

    def down(self) -> bool:
        """Stops everything. Returns False if nothing was running."""
        return stop_supervisor(self.run)

    def start(self, tell: Tell, owner_pid: int | None) -> bool:
        """Starts the supervisor with the present table. Returns False if it already runs with this table."""
        running = supervisor_pid(self.run) is not None
        port = json.loads((self.run / "ports.json").read_text()) if running else self.choose_ports()
        if running and units.PORTS.keys() - port.keys():  # it runs a release with fewer processes
            tell("the set-up has changed: starting anew")
            running = not self.down()
            port = self.choose_ports()
        env, table = self.plan(port)
        changed = write_table(self.run, table)
        if running and not changed:
            return False
        if running:
            tell("the set-up has changed: starting anew")
            self.down()
        names = {row.name for row in table}
        if "rabbitmq" in names:
            rabbitmq.install(tell)
            rabbitmq.prepare(
                self.run, port=port["amqp"], test_vhosts=not self.durable, passwords=self.amqp_passwords()
            )
        if "postgres" in names:
            sizes = compact.POSTGRES if self.compact else None
            postgres.prepare(self.run, durable=self.durable, sizes=sizes, in_memory=not self.durable)
        storage.prepare(self.run)
        write_env(self.run, read_env(self.run) | env)
        start_supervisor(self.run, owner_pid=owner_pid)
        return True

    def plan(self, port: Mapping[str, int]) -> tuple[dict[str, str], list[Process]]:
        """Returns the contents of the file `env`, and the processes to run. Leaves out PostgreSQL or RabbitMQ if
        variables of the environment (`DATABASE_URL_…`, `AMQP_URL`) name others to use.
        """
        own_broker = given("AMQP_URL") is None
        given_urls = {name: given(f"DATABASE_URL_{name.upper()}") for name in units.DATABASES}
        own = {name: self.database_url(name) for name, url in given_urls.items() if url is None}
        urls = own | {name: url for name, url in given_urls.items() if url is not None}
        table: list[Process] = []
        if own:
            table += postgres.processes(self.run, own)
        if own_broker:
            table += rabbitmq.processes(self.run, port, compact.ERLANG if self.compact else rabbitmq.ERLANG)
        table += storage.processes(self.run, port["s3"], self.secrets())
        if not self.compact:
            table += mail.processes(self.run, port["mail"])
        servers = [row.name for row in table if row.name in ("databases", "rabbitmq", "s3")]
        told = units.settings(
            port,
            secrets=self.secrets(),
            strict=self.strict,
            payments=self.payments,
            slow=self.slow,
            mail=not self.compact,
        )
        bus = self.bus(port["amqp"])
        table += units.processes(port, told, urls, servers, compact=self.compact, bus=bus)
        env = {
            SOURCED: str(self.run),
            "BASE_URL": f"http://127.0.0.1:{port['gateway']}/api/v1",
            "DASHBOARD_URL": units.dashboard_url(port),
            "SIMULATOR_URL": f"http://127.0.0.1:{port['simulator']}",
            "S3_URL": storage.url(port["s3"]),
            **{name: self.secrets()[name] for name in storage.SECRETS},
            "MAIL_FOLDER": str(mail.folder(self.run)),
            **bus[CTL],
            "AMQP_ADMIN_URL": given("AMQP_URL") or rabbitmq.url(port["amqp"]),
            **{f"DATABASE_URL_{name.upper()}": url for name, url in urls.items()},
            **units.SAMPLES,
        }
        return env, table

    def database_url(self, service: str) -> str:
        password = self.secrets(units.DATABASE_PASSWORDS)[f"DATABASE_PASSWORD_{service.upper()}"]
        return postgres.service_url(self.run, service, password)

    def choose_ports(self) -> dict[str, int]:
        return ports.choose(self.run, units.PORTS if self.usual_ports else dict.fromkeys(units.PORTS))

    def secrets(self, names: Sequence[str] = (*units.SECRETS, *storage.SECRETS)) -> dict[str, str]:
        """Returns the secrets of this stack that have these names: name → secret. Creates those that are missing. Keeps
        all in a file that only its owner can read.
        """
        path = self.run / "secrets"
        path.touch(mode=0o600)
        there = dict(line.split("=", 1) for line in path.read_text().splitlines())
        if missing := [name for name in names if name not in there]:
            make = {name: _fernet_key if name in units.SECRETS else secrets.token_hex for name in missing}
            there |= {name: make[name]() for name in missing}
            path.write_text("".join(f"{name}={value}\n" for name, value in there.items()))
        return {name: there[name] for name in names}

    def bus(self, port: int) -> dict[str, dict[str, str]]:
        """Returns process → its settings AMQP_URL and MESSAGE_KEYS: the broker's URL with the process's own user, and
        the keys that sign and check messages.
        """
        made = self.secrets([message_secret(name) for name in units.SERVICES])
        passwords = self.amqp_passwords()
        keys = all_message_keys({name: made[message_secret(name)] for name in units.SERVICES})
        return {
            process: {
                "AMQP_URL": given("AMQP_URL") or rabbitmq.user_url(port, process, passwords[process]),
                "MESSAGE_KEYS": keys[process],
            }
            for process in PROCESSES
        }

    def amqp_passwords(self) -> dict[str, str]:
        """Returns the broker password of each process."""
        made = self.secrets([amqp_password(process) for process in PROCESSES])
        return {process: made[amqp_password(process)] for process in PROCESSES}

    def make_folder(self) -> None:
        self.run.mkdir(parents=True, exist_ok=True)
        if self.run.stat().st_uid != os.geteuid():
            raise NotReady(
                f"{self.run} belongs to another user; run ./dev as that user, or remove the folder"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds a lock on the run directory during the block, so that two `up` commands never start its stack at the
        same time.

        The second command waits for the lock and then finds everything started.
        """
        with (self.run / "up.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def remove(self) -> None:
        """Deletes the run directory. No process of it may be running."""
        postgres.remove(self.run)
        shutil.rmtree(self.run, ignore_errors=True)


def amqp_password(process: str) -> str:
    """Returns the name of a process's broker password among the stack's secrets."""
    return f"AMQP_PASSWORD_{process.upper()}"


def message_secret(service: str) -> str:
    """Returns the name of a service's message secret among the stack's secrets."""
    return f"MESSAGE_SECRET_{service.upper()}"


def _fernet_key() -> str:
    """Returns 32 random bytes in Fernet's encoding. The other secrets in `units.SECRETS` have this form too."""
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def given(name: str) -> str | None:
    """Returns the address of a server that the environment variable `name` gives, or None.

    Ignores addresses from `.run/env`, which a shell may have sourced: they are those of our own servers.
    """
    value = os.environ.get(name)
    return value if value and os.environ.get(SOURCED) is None else None


def wait_answers(url: str, seconds: float = 30.0) -> None:
    """Waits until the URL answers 200. Raises NotReady with the last answer when `seconds` are over."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError as error:
            last = f"{error.code} {error.read(2000).decode(errors='replace')}"
        except OSError as error:
            last = str(error)
        if time.monotonic() > end:
            raise NotReady(f"{url} is not ready: {last}")
        time.sleep(0.1)
