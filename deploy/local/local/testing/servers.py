"""Starts PostgreSQL, RabbitMQ and S3 for tests, but none of our own services. `./dev test` and `./dev servers` use
it.
"""

import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path

from local.environment import SOURCED, read_env, write_env
from local.paths import RUN_TEST
from local.processes.table import Process, start_supervisor, supervisor_pid, wait_ready, write_table
from local.servers import ports, postgres, rabbitmq, storage

#: The run directory of `./dev servers`; the addresses for tests are in `.run-test/env`.
SHARED = RUN_TEST / "servers"
#: All of them, in the order in which they are started.
ALL = ("postgres", "rabbitmq", "s3")
PORTS = ("amqp", "amqp_node", "amqp_names", "s3")
S3 = ("S3_URL", *storage.SECRETS)


def up(
    run: Path, tell: Callable[[str], None], *, owner_pid: int | None = None, names: Collection[str] = ALL
) -> dict[str, str]:
    """Starts the servers `names` and waits until they are ready. If servers of this run directory are running already,
    starts none and waits for these. Returns the environment variables for tests. Raises NotReady if a server does not
    become ready.
    """
    run.mkdir(parents=True, exist_ok=True)
    if supervisor_pid(run) is None:
        port = ports.choose(run, dict.fromkeys(PORTS))
        keys = {name: secrets.token_hex() for name in storage.SECRETS}
        addresses: dict[str, str] = {}
        table: list[Process] = []
        if "postgres" in names:
            postgres.prepare(run, durable=False, in_memory=True)
            table += postgres.processes(run, {})
        if "rabbitmq" in names:
            rabbitmq.install(tell)
            rabbitmq.prepare(run, port=port["amqp"], test_vhosts=True)
            table += rabbitmq.processes(run, port)
            addresses["AMQP_ADMIN_URL"] = rabbitmq.url(port["amqp"])
        if "s3" in names:
            storage.prepare(run)
            table += storage.processes(run, port["s3"], keys)
            addresses |= {"S3_URL": storage.url(port["s3"]), **keys}
        write_table(run, table)
        write_env(run, {SOURCED: str(run), **addresses})
        start_supervisor(run, owner_pid=owner_pid)
    wait_ready(run, seconds=60, tell=tell)
    if "rabbitmq" in names:
        rabbitmq.note_started(run)
    return test_env(run)


def test_env(run: Path) -> dict[str, str]:
    """Returns the environment variables for tests: the administrator's database, the broker with its virtual hosts for
    tests, the bucket and its folder.
    """
    env = read_env(run)
    broker = os.environ.get("TEST_AMQP_URL") or env.get("AMQP_ADMIN_URL")
    return {
        "TEST_DATABASE_URL": os.environ.get("TEST_DATABASE_URL") or postgres.url(run, "postgres"),
        **({"TEST_AMQP_URL": broker} if broker else {}),
        "TEST_S3_BUCKET": storage.BUCKET,
        **{f"TEST_{name}": os.environ.get(f"TEST_{name}") or env[name] for name in S3 if name in env},
        "TEST_RUN_DIR": str(run),
    }
