"""A small stack: its memory, its restore from a backup after a total loss, and its telemetry."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from deploy_kit import wait_until

from local.environment import read_env
from local.paths import ROOT
from local.processes import watch
from local.processes.table import read_state
from local.servers import postgres
from local.stack import account, compact, units
from local.stack.stack import Stack
from testkit.collector import Collector

#: Of `./dev up --compact`, simulator and all but the dashboard, and of the dashboard: PSS, as `./dev status` has it.
MEGABYTES, DASHBOARD_MEGABYTES = 500, 60


@pytest.fixture
def stack() -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="posthaste-small-"))
    small = Stack(folder / "run", durable=False, usual_ports=False, compact=True)
    yield small
    small.down()
    small.remove()
    shutil.rmtree(folder)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


class Client:
    """Calls the API as the demo account."""

    def __init__(self, stack: Stack) -> None:
        self.env = read_env(stack.run)
        self.run = stack.run
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {self.env['LIVE_TOKEN']}"

    def call(self, method: str, path: str, expect: int, **options: Any) -> Any:
        answer = self.session.request(method, self.env["BASE_URL"] + path, timeout=30, **options)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def schedule(self, platform: str, message: str, trace_id: str | None = None) -> str:
        at = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
        body = {"page_id": self.env[f"PAGE_ID_{platform}"], "message": message, "scheduled_at": at}
        headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"} if trace_id else None
        answer = self.call("POST", "/posts/schedule", 201, json=body, headers=headers)
        post: str = answer["scheduled_post"]["id"]
        return post

    def status(self, post_id: str) -> str:
        return str(self.call("GET", f"/posts/scheduled/{post_id}", 200)["scheduled_post"]["status"])

    def await_published(self, post_id: str) -> None:
        account.ctl(self.run, "post", "due", post_id)
        wait_until(lambda: self.status(post_id) == "published", "the post is published")

    def upload(self, content: bytes) -> str:
        files = {"file": ("sign.jpg", content, "image/jpeg")}
        return str(self.call("POST", "/media/upload", 201, files=files)["url"])


def test_the_small_stack_fits_and_comes_back_from_a_backup(
    stack: Stack, tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.up(lambda _line: None)
    taken = {str(row["name"]): int(str(row["memory_bytes"])) / 2**20 for row in watch.status(stack.run)}
    assert taken.pop("dashboard") <= DASHBOARD_MEGABYTES
    assert sum(taken.values()) <= MEGABYTES
    assert not set(units.SERVICES) & read_state(stack.run).keys()
    client = Client(stack)
    photo = requests.get(f"{client.env['SIMULATOR_URL']}/media/photo-1080x1080.jpg", timeout=30).content
    url = client.upload(photo)
    out, waiting = client.schedule("FB", "Out before the backup"), client.schedule("TW", "Still waiting")
    client.await_published(out)
    run_script("dump.sh", tmp_path / "dump", stack)
    shutil.copytree(stack.run / "objects", tmp_path / "objects")
    gone = client.schedule("LN", "Made after the backup")

    stack.down()
    postgres.remove(stack.run)
    for server in ("rabbitmq", "objects"):
        shutil.rmtree(stack.run / server)

    shutil.copytree(tmp_path / "objects", stack.run / "objects")
    with databases_alone(stack):
        run_script("restore.sh", tmp_path / "dump", stack)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "500")
    stack.up(lambda _line: None)
    client = Client(stack)
    assert client.status(out) == "published"
    client.call("GET", f"/posts/scheduled/{gone}", 404)
    assert requests.get(url, timeout=30).content
    client.await_published(waiting)
    trace_id = uuid.uuid4().hex
    client.await_published(client.schedule("LN", "And on it goes", trace_id))
    check_telling(collector, trace_id)


def check_telling(collector: Collector, trace_id: str) -> None:
    """Asserts that spans and metrics name the service that did the work, although the collector sees one process for
    all of them.
    """
    collector.wait_for(lambda: collector.spans(trace_id=trace_id, name="handle post.published"))
    spans = collector.spans(trace_id=trace_id)
    assert {span.service for span in spans} == {"gateway", "posthaste"}
    doing = {span.name: (span.service, span.attributes.get("posthaste.service")) for span in spans}
    assert doing["POST /api/v1/posts/schedule"] == ("gateway", "gateway")
    assert doing["publish post"] == ("posthaste", "publishing")
    assert doing["handle post.published"] == ("posthaste", "webhooks")
    served = {span.attributes["posthaste.service"] for span in spans if span.kind == "server"}
    assert served >= {"gateway", "quota", "publishing"}
    wanted = {"gateway", *compact.SERVICES}

    def measured() -> set[Any]:
        return {p.attributes["posthaste.service"] for p in collector.points("db.client.connection.max")}

    assert collector.wait_for(lambda: measured() == wanted)
    pools = {p.attributes["posthaste.service"] for p in collector.points("posthaste.pool.size")}
    assert pools == set(compact.SERVICES)


def run_script(name: str, folder: Path, stack: Stack) -> None:
    """Runs a backup script as an operator does, with PostgreSQL's programs."""
    path = f"{postgres.programs()}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / "deploy" / "backup" / name, folder],
        env={**os.environ, **read_env(stack.run), "PATH": path}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@contextmanager
def databases_alone(stack: Stack) -> Iterator[None]:
    """Runs an empty PostgreSQL with the stack's databases, without the services."""
    postgres.prepare(stack.run, durable=False, sizes=compact.POSTGRES)
    told = read_env(stack.run)
    urls = {name: told[f"DATABASE_URL_{name.upper()}"] for name in units.DATABASES}
    server, databases = postgres.processes(stack.run, urls)
    process = subprocess.Popen(server.argv, cwd="/")
    try:
        subprocess.run(databases.argv, env=os.environ | databases.env, check=True, timeout=120)
        yield
    finally:
        process.send_signal(server.stop_signal)
        process.wait(30)
