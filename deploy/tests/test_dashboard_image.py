"""The dashboard's image, built by the Dockerfile's steps: of our packages it has only the Python client, and it runs
without any service.
"""

from collections.abc import Iterator

import pytest
import requests
from composed import SERVICES
from deploy_kit import Environment, Running, step
from packaging.utils import canonicalize_name

from local.paths import ROOT
from local.servers.ports import any_free
from local.supply_chain import lock

BUILT = SERVICES["dashboard"]["build"]["args"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("dashboard")
    step("build.sh", folder / "wheels", BUILT["PACKAGES"])
    step("install.sh", folder / "all", folder / "wheels", BUILT["PACKAGES"])
    return Environment("dashboard", folder / "all" / "bin" / "python")


@pytest.fixture
def running(environment: Environment) -> Iterator[Running]:
    """The container's process. No API answers at the address in its settings."""
    port = any_free()
    env = {"API_URL": "http://127.0.0.1:9", "DASHBOARD_URL": f"http://127.0.0.1:{port}"}
    running = Running(environment, BUILT["START"].split(), env, port)
    running.start()
    try:
        running.wait_healthy()
        yield running
    finally:
        running.kill()


def test_it_holds_its_lock_the_client_and_nothing_else_of_ours(environment: Environment) -> None:
    found = environment.evaluate(
        "from importlib.metadata import distributions\nfound = [it.name for it in distributions()]"
    )
    locked = lock.read(ROOT / BUILT["PACKAGES"] / "requirements.lock").keys()
    assert {canonicalize_name(it) for it in found} == locked | {"posthaste-dashboard", "posthaste-social"}


def test_it_serves_its_pages_and_files_and_ends_when_it_is_told(running: Running) -> None:
    page = requests.get(f"{running.url}/sign-in", timeout=10)
    assert "Sign in" in page.text
    for name in ("dashboard.css", "composer.js", "htmx-4.0.1.min.js", "icon.svg"):
        assert requests.get(f"{running.url}/static/{name}", timeout=10).status_code == 200, name
    running.signal()
    assert running.wait_ended() == 0
