"""A real Prometheus loads the settings and rules and answers all dashboard queries."""

import json
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from local.processes.table import bound_to_parent
from local.testing.observability import FOLDER, queries_of_dashboards, rules

START_SECONDS = 30.0
#: Nobody is there, and nothing is sent: no alert is raised within a test.
ALERTMANAGER = "127.0.0.1:9"
Ask = Callable[..., Any]


@pytest.mark.parametrize(("kind", "file"), [("config", "prometheus.yaml"), ("rules", "rules.yaml")])
def test_promtool_accepts_it(promtool: str, kind: str, file: str) -> None:
    done = subprocess.run(
        [promtool, "check", kind, FOLDER / file], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def ask(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """`ask("query", query="up")` asks a server that runs with our files."""
    folder = tmp_path_factory.mktemp("prometheus")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        here = f"127.0.0.1:{probe.getsockname()[1]}"
    settings = (FOLDER / "prometheus.yaml").read_text(encoding="utf-8")
    assert "collector:8889" in settings
    (folder / "prometheus.yml").write_text(settings.replace("collector:8889", here), encoding="utf-8")
    shutil.copy(FOLDER / "rules.yaml", folder)
    [[found]] = [
        it["files"] for it in yaml.safe_load(settings)["alerting"]["alertmanagers"][0]["file_sd_configs"]
    ]
    (folder / found).write_text(f'- targets: ["{ALERTMANAGER}"]\n', encoding="utf-8")
    options = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder,
        "web.listen-address": here,
    }
    argv = [prometheus, *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(bound_to_parent(argv, signal.SIGKILL), stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_SECONDS
        while not is_ready(f"http://{here}/-/ready"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.05)
        yield lambda path, **query: answer(f"http://{here}/api/v1/{path}?{urllib.parse.urlencode(query)}")
    finally:
        process.terminate()
        process.wait(20)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def answer(url: str) -> Any:
    """Raises AssertionError with the error message."""
    try:
        with urllib.request.urlopen(url, timeout=10) as got:
            return json.load(got)["data"]
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error


def test_every_query_of_a_panel_is_answered(ask: Ask) -> None:
    queries = queries_of_dashboards()
    assert len(queries) > 30
    for query in queries:
        assert ask("query", query=query.replace("$__rate_interval", "1m"))["resultType"] == "vector", query


def test_a_query_that_is_none_is_refused(ask: Ask) -> None:
    """Shows that the test above can fail."""
    with pytest.raises(AssertionError, match="parse error"):
        ask("query", query="sum by (le (rate(up[1m]))")


def test_an_alertmanager_named_in_the_file_beside_is_told(ask: Ask) -> None:
    end = time.monotonic() + START_SECONDS
    while not (known := ask("alertmanagers")["activeAlertmanagers"]):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert [it["url"].split("/")[2] for it in known] == [ALERTMANAGER]


def test_every_rule_is_loaded(ask: Ask) -> None:
    loaded = {rule["name"] for group in ask("rules")["groups"] for rule in group["rules"]}
    assert loaded == {rule.get("alert") or rule["record"] for rule in rules()}
