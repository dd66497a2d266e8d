"""An upgrade without downtime: after the migrations, each service of the parent release runs beside the present ones.

The parent release comes from the repository's history. The present release migrates the databases first, as in an
upgrade. Then each process in turn is replaced by the parent's, and one post is uploaded, scheduled, published and
reported to a subscriber.
"""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from deploy_kit import Environment, Running, unpack_parent, wait_until
from sqlalchemy import Engine

from chassis.bus import quarantine
from chassis.ids import new_id
from contracts.accounts import ChangeTier, CreateBrand, CreateToken, CreateUser
from contracts.caller import operator
from contracts.publishing import LinkPage, PostId
from contracts.services import SERVICES
from local.demo.listener import Listener
from local.paths import ROOT
from local.servers.ports import any_free
from testkit.any_sender import AnySender
from testkit.fixtures import SECRETS, cloned_databases, keys_for_tests, own_bucket, own_virtual_host

UNITS = ("gateway", *SERVICES)
SCOPES = (
    "read:posts",
    "write:posts",
    "read:media",
    "write:media",
    "manage:webhooks",
    "write:ai",
    "read:account",
)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the parent release."""
    folder = tmp_path_factory.mktemp("parent")
    unpack_parent(folder, "libs", "services")
    return folder


@dataclass
class Installation:
    """Processes of both releases over the same databases, with an account like the demo's."""

    bus: AnySender
    amqp_url: str
    simulator_url: str
    gateway_url: str
    env: dict[str, dict[str, str]]
    ports: dict[str, int]
    listener: Listener
    token: str = ""
    user_id: str = ""
    brand_id: str = ""

    def process(self, name: str, sources: Path) -> Running:
        """Returns a process that runs the code in `sources` with this Python and its libraries."""
        folders = [*(sources / "libs").glob("*"), *(sources / "services").glob("*")]
        env = {**self.env[name], "PYTHONPATH": os.pathsep.join(map(str, folders)), "MAX_WORKERS": "32"}
        env["PYTHONDONTWRITEBYTECODE"] = ""  # the parent's sources are compiled once
        start = ["gateway"] if name == "gateway" else ["chassis.run", name]
        python = Environment(name, Path(sys.executable))
        return Running(python, start, env, self.ports[name] if name == "gateway" else any_free())

    def api(self, service: str) -> Any:
        return self.bus.service(service, SERVICES[service])

    def call(self, method: str, path: str, expect: int, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.gateway_url}/api/v1{path}"
        answer = requests.request(method, url, headers=headers, timeout=30, **options)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def make_account(self) -> None:
        email = f"{new_id('u')}@example.com"
        self.user_id = (
            self.api("accounts").create_user(operator(), CreateUser(email=email, tier="elite")).user.id
        )
        request = CreateToken(user_id=self.user_id, scopes=("*",))
        self.token = self.api("accounts").create_token(operator(), request).api_token
        brand = CreateBrand(user_id=self.user_id, name="Harbour Bakery")
        self.brand_id = self.api("accounts").create_brand(operator(), brand).id
        body = {"name": "Shop", "url": self.listener.url, "events": ["post.published"]}
        self.call("POST", "/webhooks", 201, json=body)

    def tier(self) -> str:
        headers = {"Authorization": f"Bearer {self.token}"}
        return requests.get(f"{self.gateway_url}/api/v1/me", headers=headers, timeout=30).headers[
            "X-API-Tier"
        ]

    def page(self) -> str:
        """Links a new page and returns its id. Each test needs new pages, because a page may have only few posts per
        hour.
        """
        asked = {"platform": "FB", "name": "Harbour Bakery"}
        account = requests.post(f"{self.simulator_url}/_sim/accounts", json=asked, timeout=30).json()
        request = LinkPage(
            owner_account_id=self.user_id, brand_id=self.brand_id, brand_name="Harbour Bakery", platform="FB",
            remote_account_id=account["account_id"], access_token=account["access_token"], name="Harbour Bakery",
        )  # fmt: skip
        page_id: str = self.api("publishing").link_page(operator(), request).id
        return page_id


@pytest.fixture(scope="module")
def installation(admin: Engine, amqp_url: str) -> Iterator[Installation]:
    with own_virtual_host(admin, amqp_url) as virtual_host, own_bucket() as bucket, ExitStack() as stack:
        key = base64.urlsafe_b64encode(os.urandom(32)).decode()
        simulator_port, gateway_port = any_free(), any_free()
        simulator_url = f"http://127.0.0.1:{simulator_port}"
        simulator = subprocess.Popen([sys.executable, "-m", "simulator", "--port", str(simulator_port)])
        stack.callback(simulator.wait, 10)
        stack.callback(simulator.terminate)
        private = {
            "accounts": {"TOKEN_SECRET": key},
            "publishing": {
                "CREDENTIAL_KEYS": key,
                "FACEBOOK_API_URL": f"{simulator_url}/graph.facebook.com",
                "OUTBOUND_HOST_MAP": f"127.0.0.1=127.0.0.1:{gateway_port}",
                "PUBLIC_BASE_URL": f"http://127.0.0.1:{gateway_port}",
            },
            "media": {**bucket, "PUBLIC_BASE_URL": f"http://127.0.0.1:{gateway_port}"},
            "ai": {
                "AI_CAPTION_PROVIDER": "openai",
                "OPENAI_API_KEY": "local-openai-key",
                "OPENAI_API_URL": simulator_url,
            },
            "webhooks": {"WEBHOOK_SECRET_KEYS": key, "WEBHOOK_ALLOWED_CIDRS": "*=127.0.0.1/32:1-65535"},
            "gateway": {"WORKERS": "1"},
        }
        env = {}
        database_for = stack.enter_context(cloned_databases(admin))  # migrated by the present release
        for name in UNITS:
            url = database_for(name)
            keys = {"MESSAGE_KEYS": keys_for_tests(name)}
            env[name] = {"AMQP_URL": virtual_host, "DATABASE_URL": url, **keys, **private.get(name, {})}
        bus = AnySender(virtual_host, SECRETS)
        stack.callback(bus.close)
        listener = stack.enter_context(Listener())
        made = Installation(
            bus,
            virtual_host,
            simulator_url,
            f"http://127.0.0.1:{gateway_port}",
            env,
            {"gateway": gateway_port},
            listener,
        )
        yield made


@pytest.fixture(scope="module")
def present(installation: Installation) -> Iterator[dict[str, Running]]:
    """The running processes of the present release."""
    processes = {name: installation.process(name, ROOT) for name in UNITS}
    try:
        for running in processes.values():
            running.start()
        processes["gateway"].wait_healthy("/readyz")
        installation.make_account()
        yield processes
    finally:
        for running in processes.values():
            running.kill()


@contextmanager
def replaced(running: Running, other: Running) -> Iterator[None]:
    """Replaces the running process by the other one during the block, as a rolling update does."""
    try:
        exchange(running, other)
        try:
            yield
        finally:
            exchange(other, running)
    finally:
        other.kill()


def exchange(old: Running, new: Running) -> None:
    """Starts the new process before it stops the old one. If they share an address, stops the old one first."""
    if old.is_web:
        stop(old)
    new.start()
    new.wait_healthy()
    if not old.is_web:
        stop(old)


def stop(running: Running) -> None:
    running.signal()
    assert running.wait_ended() == 0


def test_what_runs_as_the_parent_is_the_parents_code(installation: Installation, parent: Path) -> None:
    running = installation.process("publishing", parent)
    code = "import chassis, contracts, publishing; print(chassis.__file__, contracts.__file__, publishing.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=running.env, capture_output=True, text=True, check=True, timeout=60
    )
    assert all(path.startswith(str(parent)) for path in done.stdout.split())


@pytest.mark.parametrize("unit", UNITS)
def test_a_post_goes_its_way_with_one_unit_of_the_parent_release(
    installation: Installation, present: dict[str, Running], parent: Path, unit: str
) -> None:
    with replaced(present[unit], installation.process(unit, parent)):
        present["gateway"].wait_healthy("/readyz")
        assert installation.call("GET", "/me", 200)["authenticated_as"]["user_id"] == installation.user_id
        asked = {"brand_id": installation.brand_id, "instruction": "We bake at night"}
        assert installation.call("POST", "/ai/captions", 200, json=asked)["text"]
        photo = requests.get(f"{installation.simulator_url}/media/photo-1080x1080.jpg", timeout=30).content
        media = installation.call(
            "POST", "/media/upload", 201, files={"file": ("a.jpg", photo, "image/jpeg")}
        )
        at = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
        body = {"page_id": installation.page(), "message": f"With {unit} of the parent", "scheduled_at": at}
        body["media_ids"] = [media["media_id"]]
        post_id = installation.call("POST", "/posts/schedule", 201, json=body)["scheduled_post"]["id"]
        installation.api("publishing").bring_post_due(operator(), PostId(id=post_id))
        delivery = installation.listener.next(30)
        assert delivery is not None
        assert post_id.encode() in delivery.body
        tier = "pro" if len(unit) % 2 else "elite"
        installation.api("accounts").change_tier(
            operator(), ChangeTier(user_id=installation.user_id, tier=tier)
        )
        wait_until(lambda: installation.tier() == tier, "the change is not heard of", 20)
    assert quarantine.list_quarantined(installation.amqp_url) == []
