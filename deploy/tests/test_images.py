"""Runs every image's steps without a container engine: builds its packages, installs its own lock, and runs its
program.

The files come from the two scripts that the Dockerfile runs. In an image's environment, only the packages of its lock
and our own can be imported. Each program runs as docker-compose.yml says: it is migrated, started and healthy. When
SIGTERM comes in the middle of work, it finishes the work, and no waiting message is lost.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import msgspec
import pika
import pytest
import requests
from composed import SERVICES as CONTAINERS
from deploy_kit import (
    STOP_SECONDS,
    Environment,
    Running,
    empty_database,
    step,
    wait_until,
)
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sqlalchemy import Engine, text

from chassis.bus import topology
from chassis.ids import new_id
from contracts.accounts import CreateUser
from contracts.ai import ListJobs
from contracts.caller import Caller, operator
from contracts.events import EVENTS, Event
from contracts.media import ListMedia
from contracts.publishing import ListPages
from contracts.record import Nothing
from contracts.services import SERVICES
from contracts.webhooks import ListSubscriptions
from local.paths import ROOT
from local.servers.ports import any_free
from local.supply_chain import lock, sbom
from testkit.any_sender import AnySender
from testkit.fixtures import SECRETS, keys_for_tests, own_bucket, own_virtual_host, signed_event

LIBRARIES = ("contracts", "chassis")
#: What `./dev` has and an image must do without.
NOT_DEPLOYED = ("pytest", "hypothesis", "mypy", "ruff", "psutil", "pip", "wheel", "local", "simulator")
#: Image → (folder of its package, what its container runs after `python -m`).
IMAGES = {
    name: (CONTAINERS[name]["build"]["args"]["PACKAGES"], CONTAINERS[name]["build"]["args"]["START"].split())
    for name in ("gateway", "ctl", *SERVICES)
}


# -- what is in an image -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("wheels")
    step("build.sh", built, *(folder for folder, _ in IMAGES.values()))
    return built


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Downloads the packages of all locks once."""
    folder = tmp_path_factory.mktemp("registry")
    entries = {name: entry for image in IMAGES for name, entry in lock.read(lock_of(image)).items()}
    (folder / "all.lock").write_text("".join(map(str, entries.values())))
    step("fetch.sh", folder, folder / "all.lock")
    return folder


@pytest.fixture(scope="module")
def environments(
    wheels: Path, registry: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Environment]]:
    """One environment for each image. The Dockerfile's step installs the packages of all images once, because that
    takes no longer than those of one image. Each environment then links only to the files of its own lock and packages.
    """
    folder = tmp_path_factory.mktemp("images")
    packages = [package for package, _ in IMAGES.values()]
    step("install.sh", folder / "all", wheels, *packages, PIP_NO_INDEX="1", PIP_FIND_LINKS=registry)
    found = distributions(path=[str(site(folder / "all"))])
    installed: dict[str, Distribution] = {canonicalize_name(it.name): it for it in found}
    for name in IMAGES:
        venv.create(folder / name)
        for one in lock.read(lock_of(name)).keys() | own_packages(name):
            link(installed[one], site(folder / name))
    yield {name: Environment(name, folder / name / "bin" / "python") for name in IMAGES}
    shutil.rmtree(folder)


def site(environment: Path) -> Path:
    [found] = (environment / "lib").glob("python3*")
    return Path(found, "site-packages")


def link(installed: Distribution, into: Path) -> None:
    """Links the files of a distribution into an environment, except programs: containers run modules."""
    for file in installed.files or ():
        if ".." not in file.parts:
            (into / file.parent).mkdir(parents=True, exist_ok=True)
            os.link(file.locate(), into / file)


def own_packages(image: str) -> set[str]:
    return {f"posthaste-{name}" for name in (*LIBRARIES, image)}


def lock_of(image: str) -> Path:
    return ROOT / IMAGES[image][0] / "requirements.lock"


def modules_of(image: str) -> list[str]:
    source = ROOT / IMAGES[image][0]
    paths = (source / image).rglob("*.py")
    return sorted(".".join(path.relative_to(source).with_suffix("").parts) for path in paths)


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_holds_its_lock_and_its_own_packages_complete_and_nothing_else(
    environments: dict[str, Environment], image: str
) -> None:
    modules = [name for name in modules_of(image) if not name.endswith(".__main__")]
    unwanted = [*NOT_DEPLOYED, *(name for name in IMAGES if name != image)]
    found = environments[image].evaluate(
        f"{'import chassis.run' if image in SERVICES else ''}\n"
        "import importlib, re\n"
        "from importlib.metadata import distributions, version\n"
        "from importlib.util import find_spec\n"
        f"for name in {modules}: importlib.import_module(name)\n"
        "from chassis.migrate import migrations_of\n"
        "there = list(distributions())\n"
        "found = {'distributions': [it.name for it in there],\n"
        f"  'migrations': sorted(it.name for it in migrations_of({image!r}).glob('*.py')),\n"
        f"  'unwanted': [it for it in {unwanted} if find_spec(it)]}}"
    )
    assert found["unwanted"] == []
    locked = lock.read(lock_of(image)).keys()
    assert {canonicalize_name(name) for name in found["distributions"]} == locked | own_packages(image)
    migrations = (ROOT / IMAGES[image][0] / "migrations").glob("*.py")
    assert found["migrations"] == sorted(path.name for path in migrations)


def test_the_gateways_image_serves_the_guides(environments: dict[str, Environment]) -> None:
    found = environments["gateway"].evaluate(
        "from gateway.reference.guides import read_guides\nfound = sorted(read_guides())"
    )
    guides = {path.stem for path in (ROOT / "docs" / "api").glob("*.md")} - {"README"}
    assert set(found) == guides | {"platforms", "mcp", "changelog"}


@pytest.mark.parametrize("image", IMAGES)
def test_a_lock_holds_all_that_its_packages_declare(environments: dict[str, Environment], image: str) -> None:
    there = list(distributions(path=[str(site(environments[image].python.parents[1]))]))
    versions = {canonicalize_name(it.name): it.version for it in there}
    needs = [Requirement(line) for it in there for line in it.requires or ()]
    needed = [it for it in needs if it.marker is None or it.marker.evaluate({"extra": ""})]
    assert len(needed) > len(LIBRARIES)
    for need in needed:
        assert need.specifier.contains(versions[canonicalize_name(need.name)], prereleases=True), need


def test_an_environment_without_what_a_lock_names_does_not_start(wheels: Path, tmp_path: Path) -> None:
    """Shows that the environments are isolated: otherwise this machine's packages would be found."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True, timeout=60)
    python = tmp_path / "bare" / "bin" / "python"
    own = [next(wheels.glob(f"posthaste_{name}-*.whl")) for name in (*LIBRARIES, "quota")]
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        *own,
    ]
    subprocess.run(pip, check=True, timeout=60)
    done = subprocess.run([python, "-m", "chassis.run", "quota"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize("image", IMAGES)
def test_the_bill_of_an_image_lists_what_is_in_it(
    environments: dict[str, Environment], image: str, tmp_path: Path
) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
    script = ROOT / "deploy/images/sbom.py"
    done = subprocess.run(
        [environments[image].python, "-IB", script, "--root", tmp_path, "--base", "python:3.12"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sbom.fault(done.stdout) == ""
    bill = json.loads(done.stdout)
    assert bill["metadata"]["component"]["name"] == f"posthaste/{image}"
    listed = {it["purl"] for it in bill["components"] if it.get("purl", "").startswith("pkg:pypi/")}
    assert listed == {f"pkg:pypi/{it.name}@{it.version}" for it in lock.read(lock_of(image)).values()}


# -- what the image does -------------------------------------------------------------------------------------------

ACCOUNT = "usr_inflight"
#: Service → (table that is locked meanwhile, method, request): a call that waits for the table.
CALLS: dict[str, tuple[str, str, Any]] = {
    "accounts": ("users", "create_user", CreateUser(email=f"{ACCOUNT}@example.com")),
    "quota": ("counters", "get_usage", Nothing()),
    "media": ("media", "list_media", ListMedia()),
    "publishing": ("pages", "list_pages", ListPages()),
    "ai": ("jobs", "list_jobs", ListJobs()),
    "webhooks": ("subscriptions", "list_subscriptions", ListSubscriptions()),
}
#: Receiver → an event that it can handle without knowing whom it is about.
EVENTS_HEARD: dict[str, tuple[str, dict[str, Any]]] = {
    "media": ("post.media", {"post_id": "pst_0", "media_ids": [], "state": "released", "revision": 1}),
    "quota": ("unit.returned", {"operation_id": "op_0"}),
    "webhooks": ("account.changed", {"account_id": ACCOUNT, "tier": "elite"}),
}
EVENT_COUNT = 40  # more than are handed out at once


@dataclass
class Installation:
    """Every container's program, run as a plain process, with new databases and a virtual host for this test."""

    processes: dict[str, Running]
    databases: dict[str, Engine]
    bus: AnySender
    amqp_url: str


@pytest.fixture(scope="module")
def installation(
    environments: dict[str, Environment], admin: Engine, amqp_url: str
) -> Iterator[Installation]:
    """Migrates and starts all units in parallel, each in its own environment."""
    with own_virtual_host(admin, amqp_url) as virtual_host, own_bucket() as bucket, ExitStack() as stack:
        key = base64.urlsafe_b64encode(os.urandom(32)).decode()
        private = {
            "accounts": {"TOKEN_SECRET": key, "SIGNUPS": "open"},
            "publishing": {"CREDENTIAL_KEYS": key},
            "media": bucket,
            "webhooks": {"WEBHOOK_SECRET_KEYS": key},
        }
        databases = {name: stack.enter_context(empty_database(admin)) for name in ("gateway", *SERVICES)}

        def bring_up(name: str) -> Running:
            url = databases[name].url.render_as_string(hide_password=False)
            env = {"AMQP_URL": virtual_host, "DATABASE_URL": url, "MESSAGE_KEYS": keys_for_tests(name)}
            env |= private.get(name, {})
            running = Running(environments[name], IMAGES[name][1], env, any_free())
            running.migrate(name)
            running.start()
            stack.callback(running.kill)
            running.wait_healthy()
            return running

        with ThreadPoolExecutor(4) as pool:
            processes = dict(zip(databases, pool.map(bring_up, databases), strict=True))
        bus = AnySender(virtual_host, SECRETS)
        stack.callback(bus.close)
        yield Installation(processes, databases, bus, virtual_host)


@contextmanager
def locked(database: Engine, *tables: str) -> Iterator[None]:
    """Locks the tables until the end of the block."""
    with database.connect().execution_options(isolation_level="READ COMMITTED") as connection:
        for table in tables:
            connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
        yield


def is_waiting(database: Engine, marker: str) -> bool:
    """Tells whether a statement with this text waits for a lock."""
    asked = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND query LIKE :marker"
    )
    with database.connect() as connection:
        return bool(connection.execute(asked, {"marker": f"%{marker}%"}).scalar())


def test_the_services_start_each_alone_and_understand_each_other(installation: Installation) -> None:
    assert all(running.is_healthy() for running in installation.processes.values())
    installation.processes["gateway"].wait_healthy("/readyz")


def test_the_gateway_told_to_stop_answers_who_asked_before_and_lets_nobody_in(
    installation: Installation,
) -> None:
    gateway, answers = installation.processes["gateway"], []
    person = {"email": "inflight@example.com", "password": "long enough"}

    def sign_up() -> None:
        answers.append(requests.post(f"{gateway.url}/auth/signup", json=person, timeout=30))

    with locked(installation.databases["accounts"], "users"):
        request = threading.Thread(target=sign_up)
        request.start()
        wait_until(
            lambda: is_waiting(installation.databases["accounts"], "users.operation_id ="),
            "it is not on its way",
        )
        gateway.signal()
        wait_until(lambda: not gateway.is_healthy(), "it still lets people in")
    request.join(STOP_SECONDS)
    assert [answer.status_code for answer in answers] == [201]
    assert gateway.wait_ended() == 0


@pytest.mark.parametrize("service", CALLS)
def test_a_service_told_to_stop_finishes_its_calls_and_loses_no_event(
    installation: Installation, service: str
) -> None:
    running, database = installation.processes[service], installation.databases[service]
    table, method, request = CALLS[service]
    caller = operator() if service == "accounts" else Caller(account_id=ACCOUNT, user_id=ACCOUNT)
    call = getattr(installation.bus.service(service, SERVICES[service]), method)
    with locked(database, "inbox", table):
        pending = call.start(caller, request)
        installation.bus.ping(service, timeout_seconds=30)
        wait_until(lambda: is_waiting(database, table), "the call has not begun")
        sent = tell(installation.amqp_url, service) if service in EVENTS_HEARD else set()
        running.signal()
        wait_until(lambda: not has_consumers(installation.amqp_url, service), "it still takes calls")
    assert pending.result() is not None
    assert running.wait_ended() == 0
    with database.connect() as connection:
        handled = set(connection.execute(text("SELECT event_id FROM inbox")).scalars())
    assert handled | waiting(installation.amqp_url, service) == sent


def tell(amqp_url: str, service: str) -> set[str]:
    """Sends events to the service and waits for the broker's confirmation. Returns their ids."""
    name, data = EVENTS_HEARD[service]
    assert service in EVENTS[name].receivers
    ids = [new_id("evt") for _ in range(EVENT_COUNT)]
    with pika.BlockingConnection(pika.URLParameters(amqp_url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for event_id in ids:
            event = Event(
                id=event_id, event=name, created_at=datetime.now(UTC), account_id=ACCOUNT, data=data
            )
            body, headers = signed_event(event)
            properties = pika.BasicProperties(delivery_mode=2, headers=headers)
            channel.basic_publish(topology.EVENT_EXCHANGE, name, body, properties, True)
    return set(ids)


def has_consumers(amqp_url: str, service: str) -> bool:
    with pika.BlockingConnection(pika.URLParameters(amqp_url)) as connection:
        declared = connection.channel().queue_declare(topology.rpc_queue(service), passive=True)
        return bool(declared.method.consumer_count)


def waiting(amqp_url: str, service: str) -> set[str]:
    """Returns the ids of the service's events at the broker, including those that wait for a retry."""
    queues = [topology.event_queue(service)]
    queues += [topology.retry_queue(service, seconds) for seconds in topology.RETRY_SECONDS]
    found = set()
    with pika.BlockingConnection(pika.URLParameters(amqp_url)) as connection:
        channel = connection.channel()
        for queue in queues:
            while (message := channel.basic_get(queue, auto_ack=True))[0] is not None:
                found.add(msgspec.json.decode(message[2], type=Event).id)
    return found
