"""A stack in a simulated internet that sends no webhook to the loopback (`./dev up --strict`)."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e_kit.private import private_stack
from e2e_kit.stack import Stack

_INTERNET = Path(__file__).with_name("internet")


@contextmanager
def strict_stack(run: Path, world: dict[str, object]) -> Iterator[Stack]:
    """Runs the stack during the block, and removes it afterwards. `world` holds the names and addresses of the
    simulated internet (e2e_kit/internet).
    """
    run.mkdir(parents=True)
    (run / "internet.json").write_text(json.dumps(world))
    set_ = {"PYTHONPATH": str(_INTERNET), "INTERNET": str(run / "internet.json")}
    with private_stack(run, set_, strict=True) as stack:
        yield stack


class Canary:
    """A server on every address of this machine that records connections. A test fails if there was one, because our
    services must refuse all URLs that lead to it.
    """

    def __init__(self) -> None:
        self.visits: list[bytes] = []
        self._socket = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def sing(self) -> None:
        """Checks that connections are recorded: connects to itself, then deletes the record of these connections."""
        for host in ("127.0.0.1", "127.8.8.8", "::1"):
            with socket.create_connection((host, self.port), timeout=5) as visitor:
                visitor.sendall(b"me")
                visitor.shutdown(socket.SHUT_WR)
                assert visitor.recv(1) == b""
        assert self.visits == [b"me"] * 3
        self.visits.clear()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            with visitor:
                visitor.settimeout(5)
                try:
                    self.visits.append(visitor.recv(1_000))
                except OSError as error:
                    self.visits.append(repr(error).encode())
