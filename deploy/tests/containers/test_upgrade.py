"""An upgrade from the parent release and the way back, under load: docs/operations.md, "Upgrade without downtime"."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from container_builds import PARENT, Builds, parent_release
from container_kit import tell
from container_load import Load, Tenant
from deploy_kit import unpack_parent

from local.containers.compose import DOMAIN, Composed
from local.containers.engine import Engine
from local.paths import ROOT
from local.stack.stack import wait_answers

UNITS = ("media", "publishing", "quota", "ai", "webhooks", "accounts", "gateway")
SERVERS = ("postgres", "rabbitmq", "storage")
#: Of an account with the plan Elite, 300 requests a minute are answered: together they take 50 a second.
TENANTS, A_SECOND = 12, 50.0
#: The gateway's own port is closed between the end of one container and the start of the next. Caddy waits meanwhile.
MOST_SECONDS_CLOSED = 6
#: Of the requests to a proxy that never tries again.
MOST_REFUSED = 0.01
PROXY_PORT = 8001


@pytest.fixture(scope="module")
def installed(stack: Composed, builds: Builds, engine: Engine) -> Composed:
    """Replaces the running stack by one of the parent release."""
    if stack.profile != "core":
        pytest.skip("the profile core has a unit for each service")
    builds.begin(PARENT, lambda: parent_release(engine))  # if no other test ran on `core` before
    parent = builds.wait(PARENT)
    parent.start(lambda _: None)
    return parent


def check_out_the_present(folder: Path) -> None:
    """Puts the present release into the folder. Replaces changed files by new ones, as `git checkout` does."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout  # fmt: skip
    tar = ["tar", "--create", "--null", "--files-from=-"]
    packed = subprocess.run(tar, cwd=ROOT, input=files, capture_output=True, check=True).stdout
    unpack = ["tar", "--extract", "--unlink-first", "--directory", folder]
    subprocess.run(unpack, input=packed, check=True)


def forward(stack: Composed) -> None:
    stack.compose("run", "--rm", "--no-deps", "databases")
    for unit in UNITS:
        stack.compose("run", "--rm", "--no-deps", f"migrate-{unit}")
    stack.compose("up", "--detach", "databases", "broker-users", *(f"migrate-{unit}" for unit in UNITS))
    replaced = replace(stack, *UNITS, "dashboard")
    assert replaced.returncode == 0, replaced.stderr
    tell(replaced.stdout.replace("\n", ", "))
    before = running(stack)
    stack.compose("up", "--detach")
    assert running(stack) == before


def back(stack: Composed) -> None:
    replaced = replace(stack, "dashboard", *reversed(UNITS))
    assert replaced.returncode == 0, replaced.stderr


def replace(stack: Composed, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs the present release's deploy/compose/replace.py, which an operator keeps for the way back."""
    script = stack.sources / "deploy" / "compose" / "replace.py"
    if stack.sources != ROOT:
        shutil.copy(ROOT / "deploy" / "compose" / "replace.py", script)
    env = stack.engine.env | {"COMPOSE_PROJECT_NAME": "posthaste"} | settings
    return subprocess.run(
        [sys.executable, script, *arguments, "--env-file", stack.settings],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip


@contextmanager
def proxy_without_retries(stack: Composed) -> Iterator[str]:
    """Runs a second Caddy before the gateway, which passes each request on once. Gives the URL of the API there."""
    proxy = ("caddy", "reverse-proxy", "--from", f":{PROXY_PORT}", "--to", "gateway:8000")
    port = f"{PROXY_PORT}:{PROXY_PORT}"
    stack.compose("run", "--detach", "--no-deps", "--name", "proxy", "--publish", port, "caddy", *proxy)
    try:
        address = f"http://127.0.0.1:{PROXY_PORT}"
        wait_answers(f"{address}/readyz", seconds=30.0)
        yield f"{address}/api/v1"
    finally:
        stack.engine.docker("rm", "--force", "proxy")


def running(stack: Composed) -> set[str]:
    """Returns the containers of the units and servers, as the name of the service with the id."""
    shown = stack.compose("ps", "--format", "{{.Service}} {{.ID}}").stdout.splitlines()
    return {line for line in shown if line.split()[0] in (*UNITS, *SERVERS, "dashboard")}


def images(stack: Composed) -> set[str]:
    """Returns the tags of the images that our units run."""
    shown = stack.compose("ps", "--format", "{{.Service}} {{.Image}}").stdout.splitlines()
    return {line.rpartition(":")[2] for line in shown if line.split()[0] in UNITS}


def test_a_unit_stays_whose_next_release_does_not_start(installed: Composed) -> None:
    before = installed.containers()
    done = replace(installed, "quota", MESSAGE_KEYS_QUOTA="rubbish")
    assert done.returncode == 1
    assert "the stand-in of quota did not become healthy" in done.stderr
    assert installed.containers() == before
    unknown = replace(installed, "nobody")
    assert (unknown.returncode, "nobody" in unknown.stderr) == (1, True)


def test_no_write_is_lost_and_no_request_behind_caddy_refused_on_the_way_and_back(
    installed: Composed,
) -> None:
    with ThreadPoolExecutor(4) as pool:
        tenants = list(pool.map(partial(Tenant.make, installed), range(TENANTS)))
    tell(f"{TENANTS} accounts are made")
    refused: list[tuple[float, float, int]] = []
    addresses = {"direct": installed.api, "caddy": f"https://{DOMAIN}/api/v1"}
    with (
        installed.trusted() as authority,
        proxy_without_retries(installed) as addresses["once"],
        closing(Load(tenants, addresses, authority, A_SECOND)) as load,
    ):
        for version, check_out, steps in (
            ("", check_out_the_present, forward),
            (PARENT, unpack_parent, back),
        ):
            check_out(installed.sources)
            installed.set({"POSTHASTE_VERSION": version})
            with load.running():
                steps(installed)
            assert (images(installed) == {PARENT}) is (version == PARENT)
            tell(f"to {version or 'the present'}: {load.told()}")
            assert not load.failed()
            refused.append((load.refused("caddy"), load.refused("once"), len(load.refused_at)))
        load.repeat_what_got_no_answer()
        load.assert_nothing_is_lost_or_double()
    for behind_caddy, without_retries, seconds in refused:
        assert behind_caddy == 0
        assert without_retries <= MOST_REFUSED
        assert seconds <= MOST_SECONDS_CLOSED
