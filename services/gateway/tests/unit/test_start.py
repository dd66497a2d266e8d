"""How `python -m gateway` starts."""

import os
import socket
import subprocess
import sys

import pytest


def test_the_port_opens_before_the_imports_that_take_time() -> None:
    """Until the port is open, an upgrade on Compose refuses requests."""
    before_it = subprocess.run(
        [sys.executable, "-c", "import gateway.__main__, sys; print(*sys.modules)"],
        capture_output=True, check=True, text=True,
    ).stdout.split()  # fmt: skip
    assert "socket" in before_it
    assert not {"chassis", "contracts", "flask", "gevent", "gunicorn", "msgspec"}.intersection(before_it)


def refused(**settings: str) -> str:
    """Returns the reason with which the gateway ends at once with these settings."""
    ended = subprocess.run(
        [sys.executable, "-m", "gateway"], env={**os.environ, **settings}, capture_output=True, text=True, timeout=30
    )  # fmt: skip
    assert ended.returncode == 1
    return ended.stderr.strip()


@pytest.mark.parametrize("port", ["http", "-1", "65536"])
def test_a_port_that_is_none_ends_the_process_with_the_reason(port: str) -> None:
    assert refused(PORT=port) == f"PORT must be a number up to 65535, not '{port}'"


def test_a_port_that_somebody_else_has_ends_the_process_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        reason = refused(HOST="127.0.0.1", PORT=str(port))
    assert reason.startswith(f"cannot listen on 127.0.0.1, port {port}: Address already in use")


def test_a_host_that_is_none_ends_the_process_with_the_reason() -> None:
    assert "cannot listen on no.such.host.invalid" in refused(HOST="no.such.host.invalid", PORT="0")
