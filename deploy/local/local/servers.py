"""`./dev servers up|down`: PostgreSQL and RabbitMQ alone, for running tests by hand under `.run-test/`."""

from collections.abc import Callable
from pathlib import Path

from local import ports, postgres, processes, rabbitmq
from local.paths import RUN_TEST

RUN = RUN_TEST / "servers"
ENV = RUN_TEST / "env"


def table(run: Path, port: dict[str, int], databases: list[str]) -> list[processes.Process]:
    """The rows of both servers."""
    broker = rabbitmq.processes(run, port=port["amqp"], node_port=port["amqp_node"], names_port=port["amqp_names"])
    return [postgres.process(run), postgres.databases(run, databases), *broker]


def up(tell: Callable[[str], None]) -> None:
    if processes.supervisor_pid(RUN) is None:
        RUN.mkdir(parents=True, exist_ok=True)
        rabbitmq.install(tell)
        port = ports.choose(RUN, {"amqp": None, "amqp_node": None, "amqp_names": None})
        postgres.prepare(RUN, durable=False)
        rabbitmq.prepare(RUN, port=port["amqp"])
        processes.write_table(RUN, table(RUN, port, []))
        ENV.write_text(
            f"TEST_DATABASE_URL={postgres.url(RUN, 'postgres')}\nTEST_AMQP_URL={rabbitmq.url(port['amqp'])}\n"
        )
        processes.start_supervisor(RUN)
    processes.wait_ready(RUN, seconds=60, tell=tell)
    print(ENV.read_text(), end="")


def down() -> None:
    processes.stop_supervisor(RUN)
