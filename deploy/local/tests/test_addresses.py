"""The choice of ports, the paths of sockets, and the file `env`."""

import os
import socket
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from local.environment import read_env, write_env
from local.paths import ROOT
from local.servers import ports, postgres
from local.stack import stack
from local.testing.runs import needs_stack


def test_the_usual_port_is_taken_when_it_is_free(tmp_path: Path, free_port: int) -> None:
    assert ports.choose(tmp_path, {"gateway": free_port}) == {"gateway": free_port}


def test_a_port_in_use_is_replaced_and_the_replacement_kept(tmp_path: Path, free_port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port))
        other.listen()
        chosen = ports.choose(tmp_path, {"gateway": free_port})
    assert chosen["gateway"] != free_port
    assert ports.choose(tmp_path, {"gateway": free_port}) == chosen


def test_two_names_never_share_a_port(tmp_path: Path, free_port: int) -> None:
    chosen = ports.choose(tmp_path, {"gateway": free_port, "simulator": free_port})
    assert len(set(chosen.values())) == 2


@pytest.mark.parametrize("depth", [0, 40])
def test_the_socket_path_fits_however_deep_the_checkout_lies(tmp_path: Path, depth: int) -> None:
    run = tmp_path.joinpath(*["deep"] * depth)
    assert len(os.fsencode(postgres.socket_folder(run) / postgres.SOCKET_NAME)) <= 107


def test_a_database_url_survives_odd_characters_in_the_path() -> None:
    run = Path("/srv/a b&c?d")
    for url in (postgres.url(run, "postgres"), postgres.service_url(run, "quota", "secret")):
        assert parse_qs(urlsplit(url).query)["host"] == [str(run / "pg")]


def test_env_is_read_back_as_written_and_is_private(tmp_path: Path) -> None:
    values = {
        "LIVE_TOKEN": "svc_live_x",
        "DATABASE_URL_QUOTA": postgres.service_url(tmp_path, "quota", "secret"),
    }
    write_env(tmp_path, values)
    assert read_env(tmp_path) == values
    assert (tmp_path / "env").stat().st_mode & 0o077 == 0


def test_env_can_be_sourced_by_a_shell(tmp_path: Path) -> None:
    values = {
        "AMQP_URL": "amqp://guest:guest@127.0.0.1:1/%2F",
        "DATABASE_URL_QUOTA": postgres.service_url(tmp_path, "quota", "secret"),
    }
    write_env(tmp_path, values)
    script = f'. {tmp_path}/env && printf "%s %s" "$AMQP_URL" "$DATABASE_URL_QUOTA"'
    assert subprocess.check_output(["sh", "-c", script], text=True).split() == list(values.values())


def test_a_given_server_is_used_unless_it_is_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMQP_URL", "amqp://elsewhere/")
    monkeypatch.delenv("POSTHASTE_RUN", raising=False)
    assert stack.given("AMQP_URL") == "amqp://elsewhere/"
    monkeypatch.setenv("POSTHASTE_RUN", "/srv/posthaste/.run")
    assert stack.given("AMQP_URL") is None


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ([], True),
        (["-k", "quota", "-q"], True),
        (["tests/e2e"], True),
        (["."], True),
        (["services/quota/tests", "-x"], False),
        (["deploy/local/tests/test_lock.py::test_x"], False),
    ],
)
def test_a_whole_stack_is_started_only_for_tests_that_ask_it(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], needed: bool
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    assert needs_stack(arguments) is needed


def test_only_tests_that_call_a_stack_are_marked_alone() -> None:
    """`./dev test` looks for tests with the mark `alone` only among those that call a stack."""
    mark, folders = "pytest.mark." + "alone", ("libs", "services", "simulator", "deploy", "clients", "bench")
    marked = [
        path for folder in folders for path in (ROOT / folder).rglob("test_*.py") if mark in path.read_text()
    ]
    assert marked == []
