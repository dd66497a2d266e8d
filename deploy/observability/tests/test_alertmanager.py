"""deploy/observability/alertmanager.yaml, checked by amtool: it is valid, and each of our alerts reaches the right
receiver. A real Alertmanager mails them as on Docker Compose, those of Prometheus and those of the daily backup.
"""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiosmtpd.controller import Controller

from local.paths import ROOT
from local.processes.table import bound_to_parent
from local.servers import ports
from local.stack.stack import wait_answers
from local.testing.observability import FOLDER
from local.testing.programs import program_or_skip

SETTINGS = FOLDER / "alertmanager.yaml"
SCRIPT = ROOT / "deploy" / "compose" / "alerts-by-mail.sh"
BACKUP = ROOT / "deploy" / "backup" / "backup.sh"
#: Where Debian's Alertmanager looks for the templates of its mails.
SHARE = Path("/usr/share/prometheus")
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
    subprocess.run(["sh", SCRIPT], env=env | told, check=True, capture_output=True, timeout=30)
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


class Mailbox:
    """Takes every mail. `mails` holds them, each with its recipients."""

    def __init__(self) -> None:
        self.mails: queue.Queue[tuple[list[str], EmailMessage]] = queue.Queue()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        self.mails.put((envelope.rcpt_tos, message_from_bytes(envelope.content, policy=policy.default)))
        return "250 taken"


@contextmanager
def alertmanager(program: str, folder: Path, **told: str) -> Iterator[str]:
    """Runs Alertmanager as the container does, but for waits of a tenth of a second before and between mails. Yields
    the URL of its API.
    """
    here = f"127.0.0.1:{ports.any_free()}"
    start = f'{program} --web.listen-address={here} "$@"'
    share = Path(program).parents[1] / "share" / "prometheus"
    if share != SHARE:  # the unpacked package's
        steps = f"mount -t tmpfs tmpfs {SHARE.parent} && cp -R {share} {SHARE}"
        start = f'unshare --mount sh -c \'{steps} && exec "$0" "$@"\' {start}'
    (folder / "alertmanager").write_text(f"#!/bin/sh\nexec {start}\n")
    (folder / "alertmanager").chmod(0o755)
    quick = re.sub(r"(group_wait|group_interval): \w+", r"\1: 100ms", SETTINGS.read_text())
    (folder / "template").write_text(quick)
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "FOLDER": str(folder),
        "TEMPLATE": str(folder / "template"),
    } | told
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            bound_to_parent(["sh", str(SCRIPT)], signal.SIGKILL), env=env, stdout=log, stderr=log
        )
    try:
        wait_answers(f"http://{here}/-/ready")
        yield f"http://{here}/api/v2"
    finally:
        process.terminate()
        process.wait(20)


def send(api: str, alert: dict[str, Any]) -> None:
    """Tells Alertmanager of an alert, as Prometheus does."""
    body = json.dumps([alert]).encode()
    asked = urllib.request.Request(f"{api}/alerts", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert answer.status == 200


@pytest.fixture
def mailing(tmp_path: Path) -> Iterator[tuple[str, Mailbox]]:
    """Yields the URL of the API of an Alertmanager, and where its mails arrive."""
    program = program_or_skip("prometheus-alertmanager", "prometheus-alertmanager")
    if os.geteuid() != 0 and not SHARE.exists():
        pytest.skip("only root can put the unpacked package's templates where Alertmanager looks for them")
    mailbox, port = Mailbox(), ports.any_free()
    server = Controller(mailbox, "127.0.0.1", port)
    server.start()
    told = {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(port),
        "SMTP_SECURITY": "none",
        "ALERTS_TO": "ops@bakery.test",
    }
    try:
        with alertmanager(program, tmp_path, MAIL_FROM="alerts@bakery.test", **told) as api:
            yield api, mailbox
    finally:
        server.stop()


def test_a_real_alertmanager_mails_that_an_alert_fires_and_that_it_ended(
    mailing: tuple[str, Mailbox],
) -> None:
    api, mailbox = mailing
    alert = {
        "labels": {"alertname": "ServiceIsAway", "severity": "page", "service": "quota"},
        "annotations": {"summary": "quota does not answer"},
    }
    send(api, alert)
    recipients, fires = mailbox.mails.get(timeout=30)
    assert recipients == ["ops@bakery.test"]
    assert fires["From"] == "alerts@bakery.test"
    assert re.match(r"\[FIRING:1\] ServiceIsAway", fires["Subject"])
    assert "quota does not answer" in fires.as_string()
    send(api, alert | {"endsAt": datetime.now(UTC).isoformat()})
    _, ended = mailbox.mails.get(timeout=30)
    assert "[RESOLVED] ServiceIsAway" in ended["Subject"]


@contextmanager
def backups(folder: Path, **told: str) -> Iterator["subprocess.Popen[str]"]:
    """Runs the daily backup with databases that do not exist, so that every backup fails."""
    (folder / "work").mkdir()
    services = ("ACCOUNTS", "PUBLISHING", "AI", "QUOTA", "MEDIA", "WEBHOOKS", "GATEWAY")
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "WORK": str(folder / "work"),
        "FOLDER": str(folder),
        "BACKUP_HOUR": "0",
        "BACKUP_KEY": "a key of the operator's",
        "S3_URL": "http://127.0.0.1:1",
        "S3_ACCESS_KEY": "media",
        "S3_SECRET_KEY": "secret",
        "S3_BUCKET": "media",
        **{f"DATABASE_URL_{it}": "postgresql://nobody@127.0.0.1:1/none" for it in services},
        **told,
    }
    with subprocess.Popen([BACKUP], env=env, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.terminate()


def test_a_daily_backup_that_fails_is_mailed_and_ends_unless_it_fails_again(
    mailing: tuple[str, Mailbox], tmp_path: Path
) -> None:
    api, mailbox = mailing
    with backups(tmp_path, ALERTMANAGER_URL=api.removesuffix("/api/v2")):
        _, fires = mailbox.mails.get(timeout=60)
    assert re.match(r"\[FIRING:1\] BackupFails", fires["Subject"])
    assert "docs/observability.md#backupfails" in fires.as_string()
    with urllib.request.urlopen(f"{api}/alerts", timeout=10) as answer:
        [alert] = json.load(answer)
    # The next try is ten minutes later.
    left = datetime.fromisoformat(alert["endsAt"]) - datetime.now(UTC)
    assert timedelta(minutes=11) < left <= timedelta(minutes=25)


def test_where_no_alertmanager_is_a_failed_backup_is_logged_and_tried_again(tmp_path: Path) -> None:
    with backups(tmp_path, ALERTMANAGER_URL="http://127.0.0.1:1") as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if line.startswith("the backup failed"))
        assert said == "the backup failed: next try in ten minutes\n"
        assert next(process.stderr) == "nobody is told: no Alertmanager at http://127.0.0.1:1\n"
        assert process.poll() is None
    assert process.returncode == 0
