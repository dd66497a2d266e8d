"""docker-compose.yml: each secret reaches the processes that need it, and no others."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from composed import COMPOSE, ENV_FILES, OURS, PROCESSES, SERVICES

from local.environment import values_of
from local.paths import ROOT
from local.servers import postgres
from local.stack import units

#: Named as secrets are, and none: a user's name, and what tokens begin with.
NO_SECRETS = {"S3_ACCESS_KEY", "LEGACY_TOKEN_PREFIX"}


@pytest.mark.parametrize("container", PROCESSES)
def test_every_secret_may_be_a_file(container: str) -> None:
    environment = SERVICES[container]["environment"]
    secrets = {name for name in environment if re.search(r"(SECRET|PASSWORD|TOKEN|_KEYS?)$", name)}
    assert (
        secrets - NO_SECRETS - {name.removesuffix("_FILE") for name in environment if "_FILE" in name}
        == set()
    )


def test_there_is_no_default_password_outside_the_demo() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name, default in re.findall(r"\$\{(\w*(?:PASSWORD|SECRET|_KEYS?)\w*)(?::?-([^}]*))?\}", text):
        assert default in ("", "./deploy/compose/not-given") or name == "S3_ACCESS_KEY", name
    assert (ROOT / "deploy/compose/not-given").read_bytes() == b""
    secret = re.compile("PASSWORD|SECRET|_KEY")
    assert not [name for name in values_of(ENV_FILES["compact"]) if secret.search(name)]
    for name, row in SERVICES.items():
        for variable, value in row["environment"].items():
            if secret.search(variable) and value and variable != "S3_ACCESS_KEY":
                assert value.startswith(("${", "/run/secrets/")), (name, variable)


def test_a_secret_is_mounted_where_its_file_is_read_and_nowhere_else() -> None:
    mounted = {name: set(row.get("secrets", ())) for name, row in SERVICES.items()}
    read = {
        name: {Path(value).name for key, value in row["environment"].items() if key.endswith("_FILE")}
        for name, row in SERVICES.items()
    }
    for name, row in SERVICES.items():
        if {"AMQP_TLS_CA", "DATABASE_TLS_CA"} & row["environment"].keys():
            read[name].add(Path(values_of(ENV_FILES["tls"])["AMQP_TLS_CA"]).name)
    assert mounted == read
    assert set().union(*mounted.values()) == set(COMPOSE["secrets"])


def test_a_container_of_ours_that_runs_as_root_can_read_a_secret_that_belongs_to_another_user() -> None:
    """The files of secrets belong to the user of our images. Without capabilities, even root may read only its own."""
    runs_as_root = {name for name, row in OURS.items() if row.get("user") == "root"} | {"backup"}
    assert runs_as_root == {"backup", "broker-users"}
    for name in runs_as_root:
        assert SERVICES[name]["secrets"]
        assert "DAC_OVERRIDE" in SERVICES[name]["cap_add"], name


def test_every_process_is_a_broker_user_of_its_own_and_signs_with_its_own_keys() -> None:
    on_the_bus = {
        name: row["environment"] for name, row in SERVICES.items() if "AMQP_URL" in row["environment"]
    }
    assert on_the_bus.keys() == PROCESSES.keys() | {"ctl"}
    for name, environment in on_the_bus.items():
        assert f"://{name}@" in environment["AMQP_URL"]
        for kind in ("AMQP_PASSWORD", "MESSAGE_KEYS"):
            assert environment[kind] == f"${{{kind}_{name.upper()}:-}}"
            assert environment[f"{kind}_FILE"] == f"/run/secrets/{kind.lower()}_{name}"
    written = SERVICES["broker-users"]["environment"]
    assert {f"AMQP_PASSWORD_{name.upper()}" for name in on_the_bus} <= written.keys()


def test_every_service_gets_a_role_and_a_database_with_the_password_that_it_is_told() -> None:
    job = SERVICES["databases"]
    assert job["command"][:3] == ["python", "-m", "chassis.database_roles"]
    assert sorted(job["command"][3:]) == sorted(units.DATABASES)
    for name in units.DATABASES:
        suffix = name.upper()
        made, told = job["environment"], SERVICES[name]["environment"]
        assert made[f"DATABASE_URL_{suffix}"] == told["DATABASE_URL"]
        assert told["DATABASE_URL"] == f"postgresql://{postgres.role(name)}@postgres:5432/{name}"
        assert told["DATABASE_PASSWORD"] == f"${{DATABASE_PASSWORD_{suffix}:-}}"
        assert made[f"DATABASE_PASSWORD_{suffix}"] is None  # handed on as it is
        assert made[f"DATABASE_PASSWORD_{suffix}_FILE"] == told["DATABASE_PASSWORD_FILE"]


def test_a_process_has_the_database_passwords_of_its_own_services_and_the_administrator_s_has_none() -> None:
    for name, services in PROCESSES.items():
        for container in (name, f"migrate-{name}"):
            secrets = SERVICES[container]["secrets"]
            mounted = {it for it in secrets if it.startswith(("database", "postgres"))}
            assert mounted == {f"database_password_{service}" for service in services}, container
    holders = {name for name, row in SERVICES.items() if "postgres_password" in row.get("secrets", ())}
    assert holders == {"postgres", "databases"}


def test_only_media_signs_in_at_the_storage_which_has_no_administrator() -> None:
    signing = {name for name, row in SERVICES.items() if "S3_SECRET_KEY" in row["environment"]}
    assert signing == {"media", "services", "storage", "backup"}
    keys = {
        row["environment"]["S3_ACCESS_KEY"]
        for row in SERVICES.values()
        if "S3_ACCESS_KEY" in row["environment"]
    }
    assert keys == {"${S3_ACCESS_KEY:-posthaste-media}"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"WORD": "variable"}, "variable"),
        ({"WORD_FILE": "file"}, "from a file"),
        ({"WORD": "variable", "WORD_FILE": "empty"}, "variable"),
        ({"WORD": "", "WORD_FILE": "empty"}, None),
        ({}, None),
    ],
)
def test_servers_get_their_secret_from_either_place_and_do_not_start_without(
    tmp_path: Path, told: dict[str, str], expected: str | None
) -> None:
    (tmp_path / "file").write_text("from a file\n")
    (tmp_path / "empty").touch()
    env = {name: str(tmp_path / value) if name.endswith("_FILE") else value for name, value in told.items()}
    done = subprocess.run(
        [ROOT / "deploy/compose/with-secrets.sh", "WORD", "--", "sh", "-c", 'echo "$WORD${WORD_FILE-}"'],
        env=env | {"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=10,
    )  # fmt: skip
    assert (done.returncode == 0) is (expected is not None)
    assert done.stdout.strip() == (expected or "")
    assert expected is not None or "WORD is not set" in done.stderr


def test_a_server_told_its_secret_in_both_ways_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("from a file\n")
    done = subprocess.run(
        [ROOT / "deploy/compose/with-secrets.sh", "WORD", "--", "true"],
        env={"WORD": "variable", "WORD_FILE": str(tmp_path / "file"), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=10,
    )  # fmt: skip
    assert done.returncode == 1
    assert "WORD and WORD_FILE are both set" in done.stderr
