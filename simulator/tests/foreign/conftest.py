"""A simulator with TLS under the platforms' host names, and the installed clients of other people."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from testkit.fixtures import certificate_of
from testkit.foreign_packages import environment, installed_or_skip

sys.path.insert(0, str(Path(__file__).parent))

import foreign_kit

#: Connections that are refused are tried again for 51 s.
_RETRIES = requests.adapters.Retry(connect=9, backoff_factor=0.1)


@pytest.fixture(scope="session")
def clients() -> foreign_kit.Clients:
    """The clients, installed in an environment of their own."""
    return foreign_kit.Clients(installed_or_skip(foreign_kit.HERE))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[foreign_kit.Server]:
    certificate = certificate_of(tmp_path_factory.mktemp("tls"), "localhost", *foreign_kit.HOSTS)
    port = foreign_kit.free_port()
    argv = [sys.executable, "-m", "simulator", "--port", str(port), "--certificate", str(certificate)]
    # LinkedIn has approved the app for refresh tokens.
    own = {"PYTHONPATH": str(foreign_kit.SIMULATOR), "SIMULATOR_LINKEDIN_REFRESH": "true"}
    with subprocess.Popen(argv, env=environment() | own) as process:
        try:
            with requests.Session() as session:
                session.mount("https://", requests.adapters.HTTPAdapter(max_retries=_RETRIES))
                health = f"https://localhost:{port}/_sim/health"
                session.get(health, verify=str(certificate), timeout=30).raise_for_status()
            assert process.poll() is None
            yield foreign_kit.Server(port, certificate)
        finally:
            process.terminate()
            process.wait(30)
