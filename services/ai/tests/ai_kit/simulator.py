"""Runs the simulator in a process, and calls its control API."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests

START_SECONDS = 20.0


class Simulator:
    """A client of the simulator's control API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, **body: Any) -> Any:
        response = requests.request(method, f"{self.url}/_sim/{path}", json=body or None, timeout=10)
        response.raise_for_status()
        return response.json() if response.content else None

    def fault(self, operation: str, mode: str, times: int = 1, provider: str = "gemini") -> None:
        """Makes the provider's next `times` calls of this operation fail in this mode."""
        self.call("POST", "faults", platform=provider, operation=operation, mode=mode, times=times)

    def works(self, operation: str | None = None) -> list[dict[str, Any]]:
        """Returns the works of the AI providers (GET /_sim/ai), of one operation or of all."""
        works = self.call("GET", "ai")["works"]
        return [work for work in works if operation in (None, work["operation"])]


@contextmanager
def running_simulator(film_seconds: str) -> Iterator[Simulator]:
    """Runs a simulator that takes `film_seconds` to generate a video. It also serves the host media.posthaste.test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ,
        "OUTBOUND_HOST_MAP": f"media.posthaste.test=127.0.0.1:{port}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SIMULATOR_FILM_SECONDS": film_seconds,
    }
    process = subprocess.Popen([sys.executable, "-m", "simulator", "--port", str(port)], env=env)
    simulator = Simulator(f"http://127.0.0.1:{port}")
    deadline = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                simulator.call("GET", "faults")
                break
            except requests.RequestException:
                assert time.monotonic() < deadline, "the simulator did not start"
                time.sleep(0.05)
        yield simulator
    finally:
        process.terminate()
        process.wait(30)
