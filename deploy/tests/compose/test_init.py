"""deploy/compose/init.py and doctor.py, as far as they need no container engine. `./dev test --containers` tests the
rest.
"""

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from composed import COMPOSE, SERVICES

from chassis.broker_access import PROCESSES
from chassis.message_keys import NAMES, SHARED
from local.environment import values_of
from local.paths import ROOT

SCRIPTS = ROOT / "deploy" / "compose"
GIVEN = ("--domain", "posthaste.bakery.test", "--mail", "dana@bakery.test")


def init(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", SCRIPTS / "init.py", "--env-file", path, "--no-message-keys", *arguments]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import doctor
    import init

    return init, doctor


def test_it_writes_every_setting_that_compose_cannot_start_without(tmp_path: Path, scripts: Any) -> None:
    path = tmp_path / ".env"
    assert init(path, *GIVEN).returncode == 0
    made = values_of(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made["PUBLIC_BASE_URL"] == made["S3_PUBLIC_URL"] == "https://posthaste.bakery.test"
    assert made["COMPOSE_PROFILES"] == "core,tls,backup"
    assert made["TRUSTED_PROXY_HOPS"] == "1"
    assert made["COMPOSE_PARALLEL_LIMIT"] == "2"
    needed = {f"AMQP_PASSWORD_{process.upper()}" for process in PROCESSES} | {
        "POSTGRES_PASSWORD",
        "BACKUP_KEY",
    }
    for row in SERVICES.values():
        names = row.get("environment") or {}
        needed |= {
            name for name in names if name.startswith("DATABASE_PASSWORD_") and not name.endswith("_FILE")
        }
    assert needed <= made.keys()
    assert {f"MESSAGE_KEYS_{name.upper()}" for name in (*NAMES, SHARED)} == {*scripts[0].MESSAGE_KEYS}


def test_to_run_it_again_changes_nothing_and_new_settings_are_added(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    init(path, *GIVEN)
    first = path.read_text()
    assert init(path, *GIVEN).returncode == 0
    assert init(path).returncode == 0  # it knows both answers by now
    assert path.read_text() == first
    shorter = "".join(line for line in first.splitlines(True) if not line.startswith("S3_SECRET_KEY="))
    path.write_text(f"{shorter}# mine\nSMTP_HOST=mail.bakery.test")
    assert init(path).returncode == 0
    after = values_of(path)
    assert after["S3_SECRET_KEY"]
    assert after["SMTP_HOST"] == "mail.bakery.test"
    assert path.read_text().startswith(f"{shorter}# mine\nSMTP_HOST=mail.bakery.test\n")


def test_two_installations_share_no_secret(tmp_path: Path, scripts: Any) -> None:
    for name in ("one", "two"):
        init(tmp_path / name, *GIVEN)
    one, two = (values_of(tmp_path / name) for name in ("one", "two"))
    secrets = [*scripts[0].KEYS, *scripts[0].PASSWORDS]
    values = [made[name] for made in (one, two) for name in secrets]
    assert len({*values}) == len(values)
    assert scripts[0].weaknesses(one) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("POSTGRES_PASSWORD=secret", "POSTGRES_PASSWORD is too easy to guess"),
        ("POSTGRES_PASSWORD=aaaaaaaaaaaaaaaaaaaaaaaa", "POSTGRES_PASSWORD is too easy to guess"),
        ("TOKEN_SECRET=demo-only-demo-only-demo-only-demo-only", "TOKEN_SECRET is the demo's"),
        ("CREDENTIAL_KEYS=ZGVtby1vbmx5LWRlbW8tb25seS1kZW1vLW9ubHktMDA=", "CREDENTIAL_KEYS is the demo's"),
        (
            "S3_SECRET_KEY=kq8Zr2vT5xW7yB1n\nGRAFANA_PASSWORD=kq8Zr2vT5xW7yB1n",
            "S3_SECRET_KEY and GRAFANA_PASSWORD are the same",
        ),
    ],
)
def test_a_weak_secret_is_refused_and_nothing_changes(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"{line}\n")
    done = init(path, *GIVEN)
    assert done.returncode == 1
    assert said in done.stderr
    assert path.read_text() == f"{line}\n"


@pytest.mark.parametrize(
    "domain", ["https://a.test", "localhost", "a_b.test", "posthaste.example.com", "1.2.3.4", ""]
)
def test_what_is_no_domain_of_ones_own_is_refused(tmp_path: Path, domain: str) -> None:
    done = init(tmp_path / ".env", "--domain", domain, "--mail", "dana@bakery.test")
    assert done.returncode == 1
    assert "omain" in done.stderr
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize("mail", ["dana", "dana@", "dana@example.com", "a b@bakery.test"])
def test_what_is_no_mail_address_is_refused(tmp_path: Path, mail: str) -> None:
    done = init(tmp_path / ".env", "--domain", "posthaste.bakery.test", "--mail", mail)
    assert done.returncode == 1
    assert "mail address" in done.stderr
    assert not (tmp_path / ".env").exists()


def test_another_domain_than_the_file_s_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    init(path, *GIVEN)
    before = path.read_text()
    done = init(path, "--domain", "other.bakery.test")
    assert (done.returncode, path.read_text()) == (1, before)
    assert "DOMAIN=posthaste.bakery.test" in done.stderr


def test_doctor_names_what_is_missing_weak_or_open_to_others(tmp_path: Path, scripts: Any) -> None:
    path = tmp_path / ".env"
    path.write_text("POSTGRES_PASSWORD=secret\nDOMAIN=a.test\n")
    path.chmod(0o644)
    found = {(it.check, it.state): it.detail for it in scripts[1].check_settings(path, values_of(path))}
    told = "\n".join(it.detail for it in scripts[1].check_settings(path, values_of(path)))
    assert ("secrets", "failed") in found
    for part in (
        "chmod 600", "TOKEN_SECRET", "MESSAGE_KEYS_GATEWAY", "POSTGRES_PASSWORD is too easy",
        "DASHBOARD_URL is not set",
    ):  # fmt: skip
        assert part in told
    init(path := tmp_path / "new", *GIVEN)
    path.write_text(path.read_text() + "".join(f"{name}=x\n" for name in scripts[0].MESSAGE_KEYS))
    assert {it.state for it in scripts[1].check_settings(path, values_of(path))} == {"ok"}


def test_doctor_names_a_secret_s_file_that_its_container_cannot_read(tmp_path: Path, scripts: Any) -> None:
    doctor = scripts[1]
    for name, mode in (("open", 0o644), ("closed", 0o600)):
        (tmp_path / name).write_text("secret")
        (tmp_path / name).chmod(mode)

    def told(name: str, file: str) -> list[str]:
        return [it.detail for it in doctor.check_secret_files({name: str(tmp_path / file)})]

    assert told("TOKEN_SECRET_FILE", "open") == []
    [closed] = told("TOKEN_SECRET_FILE", "closed")
    assert closed.endswith(f"sudo chown 10001 {tmp_path / 'closed'}")
    [of_grafana] = told("GRAFANA_PASSWORD_FILE", "closed")
    assert "chown 472" in of_grafana
    assert told("RABBITMQ_KEY_FILE", "closed") == []  # its server begins as root
    assert told("TOKEN_SECRET_FILE", "none") == [f"TOKEN_SECRET_FILE: there is no {tmp_path / 'none'}"]
    assert "is not a file" in told("TOKEN_SECRET_FILE", "")[0]
    assert (
        list(doctor.check_secret_files({"COMPOSE_FILE": "docker-compose.yml:deploy/compose/minio.yml"})) == []
    )


def test_doctor_knows_who_reads_each_secret_of_compose(scripts: Any) -> None:
    doctor = scripts[1]
    users = {"grafana": doctor.GRAFANA} | dict.fromkeys(
        ("postgres", "rabbitmq", "storage", "backup", "broker-users"), doctor.SUPERUSER
    )
    for secret, row in COMPOSE["secrets"].items():
        holders = {name for name, it in SERVICES.items() if secret in it.get("secrets", ())}
        needed = {users.get(name, doctor.OURS) for name in holders} - {doctor.SUPERUSER}
        variable = row["file"].removeprefix("${").partition(":-")[0]
        reader = doctor.READERS.get(variable, doctor.OURS)
        assert needed <= {reader}, secret
        assert needed or reader == doctor.SUPERUSER, secret


def test_doctor_says_whether_anybody_is_told_of_a_failure(scripts: Any) -> None:
    doctor = scripts[1]
    told = {"COMPOSE_PROFILES": "core,tls", "SMTP_HOST": "mail.bakery.test", "ACME_EMAIL": "dana@bakery.test"}
    assert doctor.check_alerts(told).state == "warning"
    told["COMPOSE_PROFILES"] += ",observability"
    assert doctor.check_alerts(told) == ("alerts", "ok", "mailed to dana@bakery.test")
    assert doctor.check_alerts(told | {"SMTP_HOST": ""}).state == "warning"


@pytest.mark.parametrize(
    ("age", "state", "told"),
    [
        (0, "ok", "2, the newest of"),
        (1, "ok", "2, the newest of"),
        (2, "failed", "logs backup"),
        (None, "warning", "backup now"),
    ],
)
def test_doctor_says_when_there_has_been_no_backup_for_two_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripts: Any, age: int | None, state: str, told: str
) -> None:
    days = [] if age is None else ["2026-01-01", f"{datetime.now(UTC) - timedelta(days=age):%F}"]
    engine = tmp_path / "docker"
    engine.write_text(f"#!/bin/sh\nprintf '%s\\n' {' '.join(days)}\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = scripts[1].check_backups(tmp_path / ".env", {"COMPOSE_PROFILES": "core,backup"})
    assert (found.check, found.state, told in found.detail) == ("backups", state, True), found


def test_doctor_says_that_no_backups_are_made_or_that_they_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripts: Any
) -> None:
    check = scripts[1].check_backups
    assert check(tmp_path / ".env", {"COMPOSE_PROFILES": "core,tls"}).state == "warning"
    (tmp_path / "docker").write_text('#!/bin/sh\necho "service \\"backup\\" is not running" >&2\nexit 1\n')
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = check(tmp_path / ".env", {"COMPOSE_PROFILES": "core,backup"})
    assert (found.state, found.detail) == ("failed", 'service "backup" is not running')


def test_doctor_tells_a_server_that_is_not_there(scripts: Any) -> None:
    doctor = scripts[1]
    [dns] = doctor.check_dns("nowhere.invalid")
    assert (dns.state, "A record" in dns.detail) == ("failed", True)
    assert doctor.check_port("127.0.0.1", 1).state == "failed"
    assert doctor.check_tls("127.0.0.1", None, is_internal=False).state == "failed"
    assert doctor.check_mail({}).state == "warning"
    away = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": "1", "MAIL_FROM": "a@bakery.test"}
    assert doctor.check_mail(away).state == "failed"
    assert doctor.check_storage({"S3_PUBLIC_URL": "http://127.0.0.1:1"}, None).state == "failed"
    assert [it.state for it in doctor.check_platforms(Path(".env"), {})] == ["warning"]
