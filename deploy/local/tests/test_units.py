"""The process table, the demo account, and RabbitMQ's folder."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chassis.http.addresses import is_allowed
from contracts.platforms import PLATFORMS
from local.environment import read_env
from local.processes.table import NotReady, Process
from local.servers import rabbitmq
from local.stack import account, compact, units
from local.stack.stack import Stack
from webhooks.security import parse_private_receivers

PORT = {name: number for number, name in enumerate(units.PORTS, 1)}


def ignore(_line: str) -> None:
    """Ignores progress."""


def table(run: Path, *, strict: bool = False, payments: bool = False) -> dict[str, Process]:
    _, rows = Stack(run, strict=strict, payments=payments).plan(PORT)
    return {row.name: row for row in rows}


@pytest.fixture(autouse=True)
def no_servers_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AMQP_URL", "POSTHASTE_RUN", *(f"DATABASE_URL_{name.upper()}" for name in units.DATABASES)):
        monkeypatch.delenv(name, raising=False)


def test_whatever_a_process_depends_on_is_in_the_table(tmp_path: Path) -> None:
    rows = table(tmp_path)
    assert {name for row in rows.values() for name in row.depends} <= rows.keys()


def test_every_service_migrates_first_and_has_its_own_database(tmp_path: Path) -> None:
    rows = table(tmp_path)
    urls = {name: rows[name].env["DATABASE_URL"] for name in units.DATABASES}
    assert len(set(urls.values())) == len(units.DATABASES)
    for name, url in urls.items():
        assert "migrate" in rows[name].depends
        assert rows["migrate"].env[f"DATABASE_URL_{name.upper()}"] == url


def test_every_service_reaches_its_database_with_a_role_and_a_password_that_no_other_service_is_told(
    tmp_path: Path,
) -> None:
    rows = table(tmp_path)
    for name in units.DATABASES:
        address = urlsplit(rows[name].env["DATABASE_URL"])
        assert address.username == f"posthaste_{name}"
        assert address.password
        told = [
            other for other, row in rows.items() if any(address.password in it for it in row.env.values())
        ]
        assert sorted(told) == sorted([name, "migrate", "databases"])
        assert rows["databases"].env[f"DATABASE_URL_{name.upper()}"] == rows[name].env["DATABASE_URL"]


def test_a_secret_is_told_to_the_service_that_needs_it_and_to_no_other(tmp_path: Path) -> None:
    rows = table(tmp_path)
    owners = {
        "CREDENTIAL_KEYS": "publishing",
        "S3_SECRET_KEY": "media",
        "TOKEN_SECRET": "accounts",
        "WEBHOOK_SECRET_KEYS": "webhooks",
    }
    for secret, owner in owners.items():
        assert [name for name, row in rows.items() if secret in row.env] == [owner]


def test_each_process_is_a_user_of_its_own_at_the_broker_and_signs_with_its_own_keys(tmp_path: Path) -> None:
    env, _ = Stack(tmp_path).plan(PORT)
    rows = table(tmp_path)
    env_of = {name: rows[name].env for name in (*units.SERVICES, "gateway")} | {"ctl": env}
    assert {name: urlsplit(told["AMQP_URL"]).username for name, told in env_of.items()} == {
        name: name for name in env_of
    }
    for secret in ("AMQP_URL", "MESSAGE_KEYS"):
        assert len({told[secret] for told in env_of.values()}) == len(env_of)
    for name, told in env_of.items():
        senders = {entry.partition("=")[0].partition(":")[0] for entry in told["MESSAGE_KEYS"].split(",")}
        assert senders == {name}


def test_secrets_stay_the_same_and_are_private(tmp_path: Path) -> None:
    stack = Stack(tmp_path)
    assert stack.secrets() == stack.secrets()
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


def test_loopback_webhooks_are_allowed_unless_strict_but_not_to_the_stacks_own_servers(
    tmp_path: Path,
) -> None:
    _, rows = Stack(tmp_path).plan(units.PORTS)
    told = next(row.env["WEBHOOK_ALLOWED_CIDRS"] for row in rows if row.name == "webhooks")
    allowed = parse_private_receivers(told.split(",")).of("usr_any")
    own = set(units.PORTS.values())
    beside = {port + step for port in own for step in (-1, 1)} - own
    assert [port for port in own if is_allowed("127.0.0.1", port, allowed)] == []
    assert all(is_allowed("127.0.0.1", port, allowed) for port in beside | {1, 9_000, 40_000, 65_535})
    assert table(tmp_path, strict=True)["webhooks"].env["WEBHOOK_ALLOWED_CIDRS"] == ""


def test_the_operator_grants_credits_unless_payments_are_taken(tmp_path: Path) -> None:
    ai = table(tmp_path)["ai"].env
    assert (ai["PAYMENT_PROVIDER"], ai["PACK_LINKS"]) == ("manual", "")
    rows = table(tmp_path, payments=True)
    ai, simulator = rows["ai"].env, rows["simulator"].env
    assert ai["PAYMENT_PROVIDER"] == "stripe"
    for name in ("STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"):
        assert ai[name] == simulator[name]


def test_a_server_brought_along_is_told_to_everybody_and_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMQP_URL", "amqp://elsewhere/")
    monkeypatch.setenv("DATABASE_URL_QUOTA", "postgresql://elsewhere/quota")
    rows = table(tmp_path)
    assert "rabbitmq" not in rows
    assert rows["quota"].env["AMQP_URL"] == "amqp://elsewhere/"
    assert rows["quota"].env["DATABASE_URL"] == "postgresql://elsewhere/quota"
    others = [name for name in units.DATABASES if name != "quota"]
    assert rows["databases"].argv[-len(others) :] == others
    assert "quota" not in rows["databases"].argv


def test_compact_all_services_share_a_process_and_keep_a_database_each(tmp_path: Path) -> None:
    _, plan = Stack(tmp_path, compact=True).plan(PORT)
    rows, full = {row.name: row for row in plan}, table(tmp_path)
    services = rows[compact.NAME]
    assert full.keys() - rows.keys() == {*units.SERVICES, "mail"}
    assert set(services.argv[3:]) == set(units.SERVICES)
    assert services.env["SMTP_HOST"] == ""  # for no mail server runs
    for name in units.SERVICES:
        assert services.env[f"DATABASE_URL_{name.upper()}"] == full[name].env["DATABASE_URL"]
        told = {key: value for key, value in full[name].env.items() if key not in compact.SETTINGS}
        assert told.keys() - services.env.keys() == {"DATABASE_URL"}
    assert services.env["MAX_WORKERS"] == compact.SETTINGS["MAX_WORKERS"]


class Operator:
    """A fake command line that fails after `calls_left` calls."""

    def __init__(self, calls_left: int = 100) -> None:
        self.calls_left = calls_left
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, run: Path, *arguments: str) -> Any:
        if len(self.calls) == self.calls_left:
            raise NotReady("broke down")
        self.calls.append(arguments)
        if arguments[:2] == ("user", "create"):
            person = {"id": "usr_1", "email": arguments[arguments.index("--email") + 1]}
            return {"user": person, "sandbox_api_token": "svc_test_1"}
        return {"id": f"id_{len(self.calls)}", "api_token": "svc_live_1"}


def test_the_demo_account_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Operator()
    monkeypatch.setattr(account, "ctl", operator)
    account.complete(tmp_path, ignore)
    made, env = list(operator.calls), read_env(tmp_path)
    account.complete(tmp_path, ignore)
    assert operator.calls == made
    assert read_env(tmp_path) == env
    linked = {call[call.index("--platform") + 1] for call in made if call[:2] == ("page", "link")}
    assert linked == set(PLATFORMS)


@pytest.mark.parametrize("calls_before", range(1, 11))
def test_an_interrupted_demo_account_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls_before: int
) -> None:
    first, second, whole = Operator(calls_before), Operator(), Operator()
    monkeypatch.setattr(account, "ctl", first)
    with pytest.raises(NotReady):
        account.complete(tmp_path, ignore)
    monkeypatch.setattr(account, "ctl", second)
    account.complete(tmp_path, ignore)
    monkeypatch.setattr(account, "ctl", whole)
    (tmp_path / "env").unlink()
    account.complete(tmp_path, ignore)
    done = [call[:2] for call in first.calls + second.calls]
    assert done == [call[:2] for call in whole.calls]


def test_commands_in_one_process_are_answered_as_in_one_of_their_own(tmp_path: Path) -> None:
    def refusal() -> str:
        with pytest.raises(account.Refused) as refused:
            account.ctl(tmp_path, "user", "dismiss")
        return str(refused.value)

    alone = refusal()
    assert "No such command 'dismiss'" in alone
    with account.commands_in_one_process(tmp_path):
        assert [refusal(), refusal()] == [alone, alone]


def test_a_demo_user_whose_tokens_are_lost_is_made_anew_under_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Operator()

    def taken_once(run: Path, *arguments: str) -> Any:
        if account.EMAIL in arguments:
            raise account.Refused(arguments, {"code": "EMAIL_TAKEN"}, "taken")
        return operator(run, *arguments)

    monkeypatch.setattr(account, "ctl", taken_once)
    account.complete(tmp_path, ignore)
    env = read_env(tmp_path)
    assert env["SANDBOX_TOKEN"] == "svc_test_1"
    assert env["DEMO_EMAIL"] != account.EMAIL


def test_the_dashboard_is_told_no_secret_and_no_server(tmp_path: Path) -> None:
    told = table(tmp_path)["dashboard"].env
    assert told.keys() == {
        *(
            "API_URL",
            "DASHBOARD_URL",
            "HOST",
            "MALLOC_ARENA_MAX",
            "PORT",
            "PUBLIC_BASE_URL",
            "PYTHONUNBUFFERED",
        ),
    }


def test_a_node_interrupted_on_its_first_start_begins_anew(tmp_path: Path) -> None:
    rabbitmq.prepare(tmp_path, port=1, test_vhosts=False)
    half_made = tmp_path / "rabbitmq" / "data" / "schema"
    half_made.mkdir(parents=True)
    rabbitmq.prepare(tmp_path, port=1, test_vhosts=False)
    assert not half_made.exists()


def test_a_node_that_was_up_keeps_its_data(tmp_path: Path) -> None:
    rabbitmq.prepare(tmp_path, port=1, test_vhosts=False)
    queue = tmp_path / "rabbitmq" / "data" / "queue"
    queue.mkdir(parents=True)
    rabbitmq.note_started(tmp_path)
    rabbitmq.prepare(tmp_path, port=1, test_vhosts=False)
    assert queue.exists()


def test_where_rabbitmq_cannot_be_installed_the_message_names_package_and_compose_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rabbitmq, "server_script", lambda: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(NotReady) as told:
        rabbitmq.install(ignore)
    assert "rabbitmq-server" in str(told.value)
    assert "docker-compose.yml" in str(told.value)
