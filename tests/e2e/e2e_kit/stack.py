"""A running stack: its addresses, and functions that kill its processes and wait until they run again."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg2
import requests

from e2e_kit.waiting import until

#: How long the gateway caches a result of /readyz (services/gateway/gateway/health.py).
_SHARED_SECONDS = 1.0
_SERVERS = {"postgres", "rabbitmq", "s3"}


class Stack:
    """A running stack. Its addresses and credentials are read from its run directory."""

    def __init__(self, run: Path) -> None:
        self.run = run
        lines = (run / "env").read_text().splitlines() if (run / "env").exists() else []
        self.env = dict(line.split("=", 1) for line in lines if "=" in line)
        assert "BASE_URL" in self.env, f"no stack in {run}: run these tests with ./dev test"

    @property
    def base_url(self) -> str:
        return self.env["BASE_URL"]

    @property
    def root_url(self) -> str:
        return self.base_url.removesuffix("/api/v1")

    def rows(self, service: str, statement: str) -> list[tuple[Any, ...]]:
        """Returns the rows that a statement finds in the database of a service."""
        url = self.env[f"DATABASE_URL_{service.upper()}"].replace("+psycopg2", "")
        with psycopg2.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor)

    def states(self) -> dict[str, dict[str, Any]]:
        """Returns process name → {state, pid, starts (how often the process has been started), …}."""
        states: dict[str, dict[str, Any]] = json.loads((self.run / "state.json").read_text())
        return states

    def starts(self, name: str) -> int:
        """Returns how often a process has been started."""
        return int(self.states()[name]["starts"])

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Sends a signal to a process. Returns how often the process had been started until then."""
        starts = self.starts(name)
        os.kill(int((self.run / "pids" / name).read_text()), number)
        return starts

    @contextmanager
    def held_down(self, name: str) -> Iterator[None]:
        """Kills a process at once, and again whenever the supervisor restarts it, until the block ends."""
        over = threading.Event()

        def kill_again() -> None:
            while not over.wait(0.05):
                with suppress(OSError, ValueError):  # the process is not running
                    os.kill(int((self.run / "pids" / name).read_text()), signal.SIGKILL)

        self.kill(name)
        killer = threading.Thread(target=kill_again)
        killer.start()
        try:
            yield
        finally:
            over.set()
            killer.join()

    def await_restart(self, name: str, starts: int, seconds: float = 30.0) -> None:
        """Waits until a process has been started more than `starts` times. Also waits until a database or broker is
        ready, which takes seconds.
        """
        until(lambda: self.starts(name) > starts, seconds, f"{name} is started again")
        if name in _SERVERS:
            until(lambda: self.states()[name]["state"] == "ready", seconds, f"{name} serves again")

    def is_ready(self) -> bool:
        """Whether every service answers a call through the bus (/readyz)."""
        try:
            return requests.get(f"{self.root_url}/readyz", timeout=3).status_code == 200
        except requests.RequestException:
            return False

    def await_ready(self, seconds: float) -> None:
        """Waits until /readyz answers 200. Ignores a result that the gateway has cached before this call."""
        begin = time.monotonic()

        def is_ready_now() -> bool:
            return time.monotonic() - begin >= _SHARED_SECONDS and self.is_ready()

        until(is_ready_now, seconds, "/readyz answers 200")
