"""Runs one operator command after the other in one process and over one connection: a new Python for each takes half a
second, and RabbitMQ opens three channels for each new connection.

Each line of standard input is a JSON array with a command's arguments. Each line of standard output is its result,
{code, output}. Arguments, output and exit codes are those of `python -m ctl`, because the same code runs.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from chassis.bus.rpc import Bus
from chassis.signatures import Signatures
from ctl.cli import main
from ctl.session import Session


class LastingBus(Bus):
    """A connection that stays open when a command ends."""

    def close(self) -> None:
        """Does nothing: the next command uses the same connection."""

    def end(self) -> None:
        super().close()


class Connection:
    """Keeps the connection to RabbitMQ (`LastingBus`) that all commands use. After a failed command or a lost
    connection, the next command gets a new one: the old one may remember an outage and refuse calls.
    """

    def __init__(self) -> None:
        self._bus: LastingBus | None = None

    def open(self, amqp_url: str, signatures: Signatures) -> Bus:
        if self._bus is not None and not self._bus.link.is_open:
            self.end()
        if self._bus is None:
            self._bus = LastingBus(amqp_url, signatures, signatures.name)
        return self._bus

    def end(self) -> None:
        if self._bus is not None:
            self._bus.end()
        self._bus = None


def run(arguments: list[str], connection: Connection) -> dict[str, object]:
    output = io.StringIO()
    sys.argv = ["posthaste", *arguments]
    try:
        with redirect_stdout(output), redirect_stderr(output):
            main(Session(connect_bus=connection.open))
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    if code:
        connection.end()
    return {"code": code, "output": output.getvalue()}


if __name__ == "__main__":
    kept = Connection()
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line), kept)), flush=True)
    kept.end()
