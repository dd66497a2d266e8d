"""deploy/compose: the scripts and settings with which PostgreSQL and RabbitMQ start."""

import os
import pwd
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from composed import COMPOSE, ENV_FILES, OURS, SERVICES

from chassis import config
from local.environment import values_of
from local.paths import ROOT
from local.servers import certificates, postgres


def addresses(row: dict[str, Any]) -> dict[str, str]:
    """Returns the addresses of RabbitMQ and of PostgreSQL's databases in a container's environment.

    Leaves out addresses of PostgreSQL's socket, which have no host.
    """
    return {
        name: value
        for name, value in row["environment"].items()
        if name == "AMQP_URL" or ("DATABASE_URL" in name and "@/" not in value)
    }


def connects(row: dict[str, Any]) -> set[str]:
    """Returns which of AMQP and DATABASE the container connects to."""
    return {"AMQP" if name == "AMQP_URL" else "DATABASE" for name in addresses(row)}


def test_the_database_writes_nobodys_words_into_its_log() -> None:
    command = SERVICES["postgres"]["command"]
    for name in ("log_min_error_statement", "log_error_verbosity"):
        assert f"--{name}={postgres.SETTINGS[name]}" in command


def test_with_tls_each_server_takes_encrypted_connections_alone() -> None:
    told = values_of(ENV_FILES["tls"])
    command = SERVICES["postgres"]["command"]
    assert "--ssl=${POSTGRES_SSL:-off}" in command
    assert told["POSTGRES_SSL"] == "on"
    assert "--hba_file=/etc/posthaste/${POSTGRES_HBA:-pg_hba.conf}" in command
    rules = {
        name: [
            line.split()
            for line in (ROOT / "deploy/compose" / name).read_text().splitlines()
            if line[0] != "#"
        ]
        for name in ("pg_hba.conf", told["POSTGRES_HBA"])
    }
    [plain, encrypted] = [[tuple(it) for it in lines] for lines in rules.values()]
    assert set(plain) - set(encrypted) == {("host", "all", "all", "all", "scram-sha-256")}
    assert set(encrypted) - set(plain) == {("hostssl", "all", "all", "all", "scram-sha-256")}
    broker = (ROOT / told["RABBITMQ_TLS_CONF"]).read_text()
    assert "listeners.tcp = none" in broker
    assert "listeners.ssl.default = 5671" in broker
    assert SERVICES["quota"]["environment"]["AMQP_URL"].startswith("${AMQP_SCHEME:-amqp}://")
    assert "5672" not in SERVICES["quota"]["environment"]["AMQP_URL"]


def resolved(value: str, told: dict[str, str]) -> str:
    """Returns the value as Compose writes it into the container, if .env has the settings `told`."""
    return re.sub(r"\$\{(\w+)(?::?-([^}]*))?\}", lambda it: told.get(it[1], it[2] or ""), value)


@pytest.mark.parametrize("name", [name for name, row in OURS.items() if connects(row)])
def test_with_tls_each_process_checks_the_certificate_of_each_server_that_it_connects_to(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test takes the addresses from the container's environment, as the process does."""
    told, row = values_of(ENV_FILES["tls"]), OURS[name]
    certificates.make(tmp_path, "unused")
    for server in connects(row):
        variable = f"{server}_TLS_CA"
        assert row["environment"][variable] is None  # Compose passes it on
        assert told[variable] == "/run/secrets/tls_ca"
        monkeypatch.setenv(variable, str(tmp_path / "ca.crt"))
    assert "tls_ca" in row["secrets"]
    for variable, value in addresses(row).items():
        address = resolved(value, told)
        if variable == "AMQP_URL":
            monkeypatch.setenv("AMQP_URL", address)
            found = urlsplit(config.amqp_url())
            assert (found.scheme, found.hostname) == ("amqps", "rabbitmq")
            assert parse_qs(found.query)["cacertfile"] == [str(tmp_path / "ca.crt")]
        else:
            monkeypatch.setenv("DATABASE_URL", address)
            found = urlsplit(config.service_database_url())
            assert found.hostname == "postgres"
            assert parse_qs(found.query)["sslmode"] == ["verify-full"]
            assert parse_qs(found.query)["sslrootcert"] == [str(tmp_path / "ca.crt")]
    assert told["TLS_CA_FILE"]
    assert "${TLS_CA_FILE:-" in COMPOSE["secrets"]["tls_ca"]["file"]


def test_a_server_finds_its_key_where_it_alone_can_read_it(tmp_path: Path) -> None:
    folder, user = tmp_path / "run", pwd.getpwuid(os.geteuid()).pw_name
    folder.mkdir()
    (tmp_path / "crt").write_text("certificate")
    (tmp_path / "key").write_text("key")
    (tmp_path / "empty").touch()

    def start(certificate: str, key: str) -> subprocess.CompletedProcess[str]:
        files = {"TLS_CERTIFICATE_FILE": tmp_path / certificate, "TLS_KEY_FILE": tmp_path / key}
        return subprocess.run(
            [ROOT / "deploy/compose/with-certificate.sh", user, "--", "sh", "-c", 'echo "ran$TLS_KEY_FILE"'],
            env={"PATH": os.environ["PATH"], "TLS_FOLDER": str(folder)} | {k: str(v) for k, v in files.items()},
            capture_output=True, text=True, timeout=10,
        )  # fmt: skip

    assert start("empty", "empty").stdout == "ran\n"
    assert list(folder.iterdir()) == []
    assert start("crt", "key").stdout == "ran\n"
    assert (folder / "server.crt").read_text() == "certificate"
    assert (folder / "server.key").read_text() == "key"
    assert (folder / "server.key").stat().st_mode & 0o777 == 0o600
    done = start("empty", "key")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no certificate in" in done.stderr
