"""A real Prometheus loads our settings and rules, and answers the queries of all dashboards."""

import subprocess
import time
from collections.abc import Iterator

import pytest
import yaml

from local.testing.observability import FOLDER, queries_of_dashboards, rules
from local.testing.prometheus import START_SECONDS, Ask, running

#: In place of the collector and of Alertmanager: nothing is measured, and nobody is told.
NOBODY = "127.0.0.1:9"


@pytest.mark.parametrize(("kind", "file"), [("config", "prometheus.yaml"), ("rules", "rules.yaml")])
def test_promtool_accepts_it(promtool: str, kind: str, file: str) -> None:
    done = subprocess.run(
        [promtool, "check", kind, FOLDER / file], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def ask(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Sends a query to a Prometheus that runs with our files."""
    settings = (FOLDER / "prometheus.yaml").read_text(encoding="utf-8")
    assert "collector:8889" in settings
    [[found]] = [
        it["files"] for it in yaml.safe_load(settings)["alerting"]["alertmanagers"][0]["file_sd_configs"]
    ]
    files = {
        "prometheus.yml": settings.replace("collector:8889", NOBODY),
        "rules.yaml": (FOLDER / "rules.yaml").read_text(encoding="utf-8"),
        found: f'- targets: ["{NOBODY}"]\n',
    }
    with running(prometheus, tmp_path_factory.mktemp("prometheus"), files) as ask:
        yield ask


def test_every_query_of_a_panel_is_answered(ask: Ask) -> None:
    queries = queries_of_dashboards()
    assert len(queries) > 30
    for query in queries:
        assert ask("query", query=query.replace("$__rate_interval", "1m"))["resultType"] == "vector", query


def test_a_query_that_is_none_is_refused(ask: Ask) -> None:
    """Shows that the test of the queries can fail."""
    with pytest.raises(AssertionError, match="parse error"):
        ask("query", query="sum by (le (rate(up[1m]))")


def test_an_alertmanager_named_in_the_file_beside_is_told(ask: Ask) -> None:
    end = time.monotonic() + START_SECONDS
    while not (known := ask("alertmanagers")["activeAlertmanagers"]):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert [it["url"].split("/")[2] for it in known] == [NOBODY]


def test_every_rule_is_loaded(ask: Ask) -> None:
    loaded = {rule["name"] for group in ask("rules")["groups"] for rule in group["rules"]}
    assert loaded == {rule.get("alert") or rule["record"] for rule in rules()}
