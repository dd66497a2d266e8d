"""deploy/observability/alertmanager.yaml, by amtool: is it valid, and who is told of each of our alerts?"""

import subprocess
from pathlib import Path

import pytest
import yaml

from local.testing.observability import FOLDER
from local.testing.programs import program_or_skip

SETTINGS = FOLDER / "alertmanager.yaml"
RECEIVERS = {"page": "pager", "ticket": "tickets"}
ALERTS = {
    rule["alert"]: rule["labels"]["severity"]
    for group in yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
}


@pytest.fixture(scope="session")
def amtool() -> str:
    return program_or_skip("amtool", "prometheus-alertmanager")


def run(amtool: str, *words: str | Path) -> str:
    done = subprocess.run([amtool, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_amtool_accepts_it(amtool: str) -> None:
    said = run(amtool, "check-config", SETTINGS)
    assert "SUCCESS" in said
    assert "2 receivers" in said


def test_every_alert_reaches_the_receiver_of_its_severity(amtool: str) -> None:
    assert set(ALERTS.values()) == {*RECEIVERS}
    for alert, severity in ALERTS.items():
        labels = (f"alertname={alert}", f"severity={severity}")
        told = run(amtool, "config", "routes", "test", f"--config.file={SETTINGS}", *labels)
        assert told == RECEIVERS[severity], alert


def test_an_alert_without_a_severity_is_a_ticket(amtool: str) -> None:
    told = run(amtool, "config", "routes", "test", f"--config.file={SETTINGS}", "alertname=Anything")
    assert told == "tickets"
