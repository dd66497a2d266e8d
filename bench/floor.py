"""Runs the floors of HTTP requests beside the stack: gunicorn with the gateway's settings, and the echo service."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from bench.stack import Stack

_HERE = Path(__file__).parent
#: The gateway's defaults.
_WORKERS, _THREADS = 2, 64


@contextmanager
def floors(stack: Stack) -> Iterator[str]:
    """Serves /f0 and /f1 during the block, and yields the URL of their server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "AMQP_URL": stack.env["AMQP_ADMIN_URL"],
        "DATABASE_URL": stack.env["DATABASE_URL_QUOTA"],
        "MESSAGE_KEYS": stack.message_keys("echo", "gateway"),
        "CLOCK_SHIFT_ALLOWED": "true",
        "HEALTH_PORT": "0",
        "PYTHONPATH": os.pathsep.join([str(_HERE), str(_HERE.parent), *sys.path]),
    }
    gunicorn = [
        *(
            sys.executable,
            "-m",
            "gunicorn",
            "--worker-class",
            "gthread",
            "--keep-alive",
            "30",
            "--no-control-socket",
        ),
        *("-w", str(_WORKERS), "--threads", str(_THREADS), "-b", f"127.0.0.1:{port}", "bench.floors:app"),
    ]
    log = (stack.run / "logs" / "floors.log").open("wb")
    processes = [
        subprocess.Popen([sys.executable, "-m", "chassis.run", "echo"], env=env, stdout=log, stderr=log),
        subprocess.Popen(gunicorn, env=env, stdout=log, stderr=log),
    ]
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{address}/f1?text=hello")
        yield address
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(15)
        log.close()


def _wait(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if requests.get(url, timeout=5).status_code == 200:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise SystemExit(f"the floor at {url} did not come up")
