"""deploy/observability/alertmanager.yaml, checked by amtool: it is valid, and each of our alerts reaches the right
receiver.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from local.paths import ROOT
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


MAIL = {"SMTP_HOST": "mail.bakery.test", "MAIL_FROM": "Bob's bakery <a&b@bakery.test>"}


def on_compose(amtool: str, folder: Path, **told: str) -> dict[str, Any]:
    """Returns the settings with which alertmanager starts on Docker Compose, after amtool has checked them."""
    (folder / "alertmanager").write_text("#!/bin/sh\n")
    (folder / "alertmanager").chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder), "TEMPLATE": str(SETTINGS)}
    script = ROOT / "deploy" / "compose" / "alerts-by-mail.sh"
    subprocess.run(["sh", script], env=env | told, check=True, capture_output=True, timeout=30)
    run(amtool, "check-config", folder / "settings")
    answer: dict[str, Any] = yaml.safe_load((folder / "settings").read_text())
    return answer


def recipients(settings: dict[str, Any]) -> set[str]:
    return {mail["to"] for receiver in settings["receivers"] for mail in receiver.get("email_configs", ())}


def test_on_compose_alerts_are_mailed_through_the_mail_server_of_accounts(
    amtool: str, tmp_path: Path
) -> None:
    login = {"SMTP_USERNAME": "posthaste", "SMTP_PASSWORD": "pass|wo'rd", "ACME_EMAIL": "dana@bakery.test"}
    settings = on_compose(amtool, tmp_path, **MAIL, **login)
    assert settings["global"] == {
        "smtp_smarthost": "mail.bakery.test:587",
        "smtp_from": MAIL["MAIL_FROM"],
        "smtp_auth_username": "posthaste",
        "smtp_auth_password_file": str(tmp_path / "smtp_password"),
    }
    assert (tmp_path / "smtp_password").read_text() == "pass|wo'rd"
    assert (tmp_path / "smtp_password").stat().st_mode & 0o077 == 0
    assert recipients(settings) == {"dana@bakery.test"}
    assert settings["route"] == yaml.safe_load(SETTINGS.read_text())["route"]


def test_a_relay_without_login_or_encryption_and_an_address_of_its_own(amtool: str, tmp_path: Path) -> None:
    settings = on_compose(
        amtool, tmp_path, **MAIL, SMTP_SECURITY="none", ALERTS_TO="ops@bakery.test", ACME_EMAIL="x@y.test"
    )
    assert settings["global"] == {
        "smtp_smarthost": "mail.bakery.test:25",
        "smtp_from": MAIL["MAIL_FROM"],
        "smtp_require_tls": False,
    }
    assert recipients(settings) == {"ops@bakery.test"}


@pytest.mark.parametrize("told", [{}, {"ALERTS_TO": "a@b.test"}, MAIL])
def test_without_a_mail_server_or_an_address_alerts_are_only_shown(
    amtool: str, tmp_path: Path, told: dict[str, str]
) -> None:
    settings = on_compose(amtool, tmp_path, **told)
    assert recipients(settings) == set()
    assert settings["global"] == {}
