"""Counts the files that a person reads who follows a post through the code: from POST /posts/schedule to its row, and
from a due post to its webhook. `./dev test bench/tests/store/test_followed_files.py -s` lists them;
`testkit.followed_files` defines which files count.

The post is a text for Facebook, the receiver has an IP address. Accounts and quota are faked: the gateway knows the
caller, and there are units left.
"""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import requests
from cryptography.fernet import Fernet
from gateway_kit.fake_bus import TOKEN, FakeBus
from sqlalchemy import text

import publishing.service
from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.vault import Vault
from contracts import publishing as api
from contracts import webhooks as hooks
from contracts.caller import Caller, operator
from contracts.events import Event
from contracts.quota import ChargedUnits
from gateway.app import create_app
from gateway.config import Config
from gateway.services import Services
from publishing.config import Settings
from publishing.pages import linked_pages
from publishing.sending.context import SendingContext
from publishing.service import PublishingService
from testkit.followed_files import followed
from webhooks.config import Settings as WebhookSettings
from webhooks.context import AppContext as WebhooksContext
from webhooks.management import subscriptions
from webhooks.service import WebhooksService

#: Bars of the project. A request with an Idempotency-Key runs `idempotency/` as well.
MOST_FILES_OF_A_SCHEDULE, MOST_WITH_A_KEY, MOST_FILES_OF_A_DUE_POST = 22, 23, 35
START_SECONDS = 20.0


@pytest.fixture
def platform() -> Iterator[str]:
    """The address of a running simulator."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen([sys.executable, "-m", "simulator", "--port", address.rpartition(":")[2]])
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            requests.get(f"{address}/_sim/faults", timeout=START_SECONDS)
            break
        except requests.ConnectionError:
            assert process.poll() is None, "the simulator ended"
            assert time.monotonic() < until, "the simulator does not start"
            time.sleep(0.05)
    yield address
    process.terminate()
    process.wait(START_SECONDS)


@pytest.fixture
def receiver() -> Iterator[SimpleNamespace]:
    """A server that accepts every delivery: its `url`, and `got`, the bodies that it received."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Does nothing, so that requests are not logged."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", got=got)
        server.shutdown()
        thread.join()


@pytest.fixture
def posts(
    open_database: Callable[[str], Database], platform: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SimpleNamespace]:
    """The service publishing with a page on Facebook. Fields: `service`, `app`, `database`, `page`."""
    monkeypatch.setenv("CREDENTIAL_KEYS", Fernet.generate_key().decode())
    monkeypatch.setenv("FACEBOOK_API_URL", f"{platform}/graph.facebook.com")
    database = open_database("publishing")
    app = SendingContext(database, Settings.from_env(), SimpleNamespace())
    monkeypatch.setattr(publishing.service, "context_of", lambda *_: app)
    account = requests.post(
        f"{platform}/_sim/accounts", json={"platform": "FB"}, timeout=START_SECONDS
    ).json()
    request = api.LinkPage(
        owner_account_id="usr_1",
        brand_id="brd_1",
        brand_name="Brand",
        platform="FB",
        remote_account_id=account["account_id"],
        access_token=account["access_token"],
        name="Page",
    )
    page = linked_pages.link(app, operator(), request)
    yield SimpleNamespace(service=PublishingService(), app=app, database=database, page=page)
    app.lease.end()


@pytest.fixture
def webhooks(
    open_database: Callable[[str], Database], receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SimpleNamespace]:
    """The service webhooks with a subscription of the receiver. Fields: `service`, `app`, `database`."""
    key = Fernet.generate_key().decode()
    monkeypatch.setenv("WEBHOOK_SECRET_KEYS", key)
    monkeypatch.setenv("WEBHOOK_ALLOWED_CIDRS", "*=127.0.0.1/32:1-65535")
    database = open_database("webhooks")
    quota = SimpleNamespace(
        charge_units=lambda caller, request, **_: ChargedUnits(allowed=(True,) * len(request.units))
    )
    app = WebhooksContext(database, WebhookSettings.from_env(), Vault([key]), quota)
    monkeypatch.setattr(WebhooksService, "app", app)
    monkeypatch.setattr(WebhooksService, "database", database)
    request = hooks.CreateSubscription(name="Shop", url=receiver.url, events=("post.published",))
    subscriptions.create(app, caller(), request)
    yield SimpleNamespace(service=WebhooksService(), app=app, database=database)
    app.dispatcher.close()


@pytest.mark.parametrize(("key", "most"), [(None, MOST_FILES_OF_A_SCHEDULE), ("k-1", MOST_WITH_A_KEY)])
def test_from_a_request_to_the_row_of_its_post(
    posts: Any, open_database: Callable[[str], Database], key: str | None, most: int
) -> None:
    bus: Any = FakeBus()
    bus.answers["schedule_post"] = posts.service.schedule_post
    gateway = Services(Config(amqp_url="", database_url=""), bus=bus, database=open_database("gateway"))
    client = create_app(gateway).test_client()
    body = {"page_id": posts.page.id, "message": "Hello", "scheduled_at": in_minutes(posts, 20).isoformat()}
    headers = {"Authorization": f"Bearer {TOKEN}"} | ({"Idempotency-Key": key} if key else {})
    with followed() as files:
        answer = client.post("/api/v1/posts/schedule", json=body, headers=headers)
        gateway.keys.answers.write()
    gateway.close()
    assert answer.status_code == 201, answer.data
    assert stored(posts) == ["queued"]
    report(f"schedule, key {key}", files())
    assert len(files()) <= most, files()


def test_from_a_due_post_to_its_webhook(posts: Any, webhooks: Any, receiver: Any) -> None:
    due_at = in_minutes(posts, 11)
    posts.service.schedule_post(
        caller(), api.SchedulePost(page_id=posts.page.id, scheduled_at=due_at, message="Hello")
    )
    for database in (posts.database, webhooks.database):
        with database.transaction() as connection:
            clock.set_shift(connection, 660)
    with followed() as files:
        posts.service.publish_due_posts()
        assert posts.app.page_queues.wait_idle(START_SECONDS)
        webhooks.service.on_events(staged(posts))
        while not receiver.got or not webhooks.app.dispatcher.is_quiet:
            webhooks.service.deliver_events()
    assert b'"event":"post.published"' in receiver.got[0]
    report("due post", files())
    assert len(files()) <= MOST_FILES_OF_A_DUE_POST, files()


def caller() -> Caller:
    return Caller(account_id="usr_1", user_id="usr_1", tier="pro", operation_id=new_id("op"))


def in_minutes(posts: Any, minutes: int) -> datetime:
    with posts.database.reading() as connection:
        return clock.now(connection).astimezone(UTC) + timedelta(minutes=minutes)


def stored(posts: Any) -> list[str]:
    with posts.database.reading() as connection:
        return list(connection.execute(text("SELECT state FROM posts")).scalars())


def staged(posts: Any) -> list[Event]:
    """Returns the events that the relay would send to the service webhooks."""
    with posts.database.reading() as connection:
        rows = connection.execute(text("SELECT body FROM outbox WHERE event LIKE 'post.%ed'")).scalars()
        return [msgspec.json.decode(bytes(body), type=Event) for body in rows]


def report(name: str, files: list[str]) -> None:
    print(f"\n{name}: {len(files)} files", *files, sep="\n  ")
