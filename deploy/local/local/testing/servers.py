"""PostgreSQL, RabbitMQ and S3 alone: for tests that need no services, run by `./dev test` or by hand."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from local.environment import SOURCED, read_env, write_env
from local.paths import RUN_TEST
from local.processes.table import start_supervisor, supervisor_pid, wait_ready, write_table
from local.servers import ports, postgres, rabbitmq, storage

#: Of `./dev servers`; what to tell the tests is in `.run-test/env`.
SHARED = RUN_TEST / "servers"
PORTS = ("amqp", "amqp_node", "amqp_names", "s3")
S3 = ("S3_URL", *storage.SECRETS)


def up(run: Path, tell: Callable[[str], None], *, owner_pid: int | None = None) -> dict[str, str]:
    """Start them unless they run; what tests are told about them. Raises NotReady."""
    run.mkdir(parents=True, exist_ok=True)
    if supervisor_pid(run) is None:
        rabbitmq.install(tell)
        port = ports.choose(run, dict.fromkeys(PORTS))
        postgres.prepare(run, durable=False)
        rabbitmq.prepare(run, port=port["amqp"], test_vhosts=True)
        storage.prepare(run)
        keys = {name: secrets.token_hex() for name in storage.SECRETS}
        write_table(
            run,
            [
                *postgres.processes(run, {}),
                *rabbitmq.processes(run, port),
                *storage.processes(run, port["s3"], keys),
            ],
        )
        addresses = {"AMQP_ADMIN_URL": rabbitmq.url(port["amqp"]), "S3_URL": storage.url(port["s3"])}
        write_env(run, {SOURCED: str(run), **addresses, **keys})
        start_supervisor(run, owner_pid=owner_pid)
    wait_ready(run, seconds=60, tell=tell)
    rabbitmq.note_started(run)
    return test_env(run)


def test_env(run: Path) -> dict[str, str]:
    """What tests are told: an administrator's database, a broker with vhosts for tests, a bucket, the folder."""
    env = read_env(run)
    return {
        "TEST_DATABASE_URL": os.environ.get("TEST_DATABASE_URL") or postgres.url(run, "postgres"),
        "TEST_AMQP_URL": os.environ.get("TEST_AMQP_URL") or env["AMQP_ADMIN_URL"],
        "TEST_S3_BUCKET": storage.BUCKET,
        **{f"TEST_{name}": os.environ.get(f"TEST_{name}") or env[name] for name in S3 if name in env},
        "TEST_RUN_DIR": str(run),
    }
