"""PostgreSQL and RabbitMQ alone: for tests that need no services, run by `./dev test` or by hand."""

import os
from collections.abc import Callable
from pathlib import Path

from local import ports, postgres, rabbitmq
from local.environment import SOURCED, read_env, write_env
from local.paths import RUN_TEST
from local.processes import start_supervisor, supervisor_pid, wait_ready, write_table

#: Of `./dev servers`; what to tell the tests is in `.run-test/env`.
SHARED = RUN_TEST / "servers"
PORTS = ("amqp", "amqp_node", "amqp_names")


def up(run: Path, tell: Callable[[str], None], *, owner_pid: int | None = None) -> dict[str, str]:
    """Start both unless they run; what tests are told about them. Raises NotReady."""
    run.mkdir(parents=True, exist_ok=True)
    if supervisor_pid(run) is None:
        rabbitmq.install(tell)
        port = ports.choose(run, dict.fromkeys(PORTS))
        postgres.prepare(run, durable=False)
        rabbitmq.prepare(run, port=port["amqp"], test_vhosts=True)
        write_table(run, [*postgres.processes(run, []), *rabbitmq.processes(run, port)])
        write_env(run, {SOURCED: str(run), "AMQP_URL": rabbitmq.url(port["amqp"])})
        start_supervisor(run, owner_pid=owner_pid)
    wait_ready(run, seconds=60, tell=tell)
    rabbitmq.note_started(run)
    return test_env(run)


def test_env(run: Path) -> dict[str, str]:
    """What tests are told: an administrator's database, a broker with vhosts for tests, the folder."""
    return {
        "TEST_DATABASE_URL": os.environ.get("TEST_DATABASE_URL") or postgres.url(run, "postgres"),
        "TEST_AMQP_URL": os.environ.get("TEST_AMQP_URL") or read_env(run)["AMQP_URL"],
        "TEST_RUN_DIR": str(run),
    }
