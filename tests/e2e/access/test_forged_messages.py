"""Tests what an attacker can do who controls one process of a running stack: has its broker address, message keys and
database, and nothing else.

An audit found that the broker's address alone was enough to forge a call that made a valid token for any account.
"""

import json
import time
from collections.abc import Callable
from typing import NamedTuple

import pika
import psycopg2
import pytest
from e2e_kit.api import Json
from e2e_kit.operator import Account, Accounts
from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from msgspec import Raw
from pika.adapters.blocking_connection import BlockingChannel
from sqlalchemy.engine import make_url

from chassis.bus.frames import Call, RequestFrame, encode
from chassis.ids import new_id
from chassis.signatures import Signatures
from contracts.caller import Caller, operator
from testkit.by_hand import is_allowed, replies_to

UNITS = ("gateway", "accounts", "quota", "publishing", "ai", "media", "webhooks")
SECONDS = 30.0


class Process(NamedTuple):
    """What an attacker who controls a process finds in its environment."""

    name: str
    env: dict[str, str]

    def sign(self, body: bytes) -> str | None:
        """Signs a call to accounts with the process's own key. Returns None if it has no such key."""
        signatures = Signatures.read(self.name, self.env["MESSAGE_KEYS"])
        may_send = signatures.can_send("accounts")
        return signatures.call("accounts", body, time.time() + SECONDS) if may_send else None

    def ask_accounts(self, body: bytes, signature: str | None) -> Json:
        """Sends a frame to accounts and returns the reply."""
        answer = replies_to(pika.URLParameters(self.env["AMQP_URL"]), "accounts", body, signature)
        [reply] = json.loads(answer)["replies"]
        return dict(reply)

    def may(self, act: Callable[[BlockingChannel], object]) -> bool:
        """Whether the broker permits `act(channel)`."""
        with pika.BlockingConnection(pika.URLParameters(self.env["AMQP_URL"])) as connection:
            return is_allowed(connection, act)


@pytest.fixture(scope="module")
def processes(stack: Stack) -> dict[str, Process]:
    rows = json.loads((stack.run / "processes.json").read_text())
    return {row["name"]: Process(row["name"], row["env"]) for row in rows if row["name"] in UNITS}


def token_for(account: Account, caller: Caller) -> bytes:
    """Returns a frame with a call that creates a token with every scope for this account."""
    request = {"user_id": account.user_id, "scopes": ["*"], "name": "forged"}
    call = Call(
        id=1, method="create_token", ttl=SECONDS, caller=Raw(encode(caller)), request=Raw(encode(request))
    )
    return encode(RequestFrame(calls=[call], steady=time.monotonic(), connection=new_id("con"), number=1))


def is_logged(stack: Stack, sender: str, reason: str) -> bool:
    """Whether accounts has logged that it refused a message of this sender for this reason."""
    lines = (stack.run / "logs" / "accounts.log").read_text().splitlines()
    found = (json.loads(line) for line in lines if "message_refused" in line)
    return any((line["sender"], line["reason"]) == (sender, reason) for line in found)


def test_the_command_line_s_key_makes_a_token(stack: Stack, accounts: Accounts, shared: Account) -> None:
    """The next test sends the same call as other processes, and accounts refuses it."""
    ctl = Process("ctl", stack.env)
    body = token_for(shared, operator())
    made = ctl.ask_accounts(body, ctl.sign(body))
    assert accounts.client(made["result"]["api_token"]).get("/me")


@pytest.mark.parametrize("unit", UNITS)
def test_no_process_makes_a_token(
    stack: Stack, processes: dict[str, Process], shared: Account, unit: str
) -> None:
    process, names = processes[unit], {"unknown"}
    tenant = Caller(account_id=shared.user_id, user_id=shared.user_id, scopes=("*",))
    for caller in (operator(), tenant):
        body = token_for(shared, caller)
        own = process.sign(body)
        forged = own and own.replace(unit, "ctl", 1)
        for signature in {None, own, forged, f"ctl {int(time.time()) + 60} {'0' * 64}"}:
            reply = process.ask_accounts(body, signature)
            assert "result" not in reply
            assert reply["error"]["code"] == "SERVICE_UNAVAILABLE"
            assert reply["error"]["extras"]["refused"]
        names |= {unit} if own and unit != "accounts" else set()
    for name in names - {"unknown"}:
        until(lambda name=name: is_logged(stack, name, "not its method"), SECONDS, "the refusal is logged")
    until(lambda: is_logged(stack, "unknown", "unsigned"), SECONDS, "the refusal is logged")


@pytest.mark.parametrize("unit", UNITS)
def test_no_process_reads_calls_of_another_taps_events_or_sends_those_of_another(
    processes: dict[str, Process], unit: str
) -> None:
    process = processes[unit]

    def tap(channel: BlockingChannel) -> None:
        channel.queue_declare("", exclusive=True)
        channel.queue_bind("", "events", "#")

    for other in {*UNITS} - {unit, "gateway"}:
        assert not process.may(lambda channel, other=other: channel.basic_get(f"rpc.{other}"))
        assert not process.may(lambda channel, other=other: channel.basic_get(f"events.{other}"))
    assert not process.may(tap)
    if unit != "publishing":
        assert not process.may(lambda channel: channel.basic_publish("events", "page.expired", b"{}"))


@pytest.mark.parametrize("unit", UNITS)
def test_no_process_opens_the_database_of_another(processes: dict[str, Process], unit: str) -> None:
    own = make_url(processes[unit].env["DATABASE_URL"]).set(drivername="postgresql")
    psycopg2.connect(own.render_as_string(hide_password=False)).close()
    for other in {*UNITS} - {unit}:
        url = own.set(database=make_url(processes[other].env["DATABASE_URL"]).database)
        with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
            psycopg2.connect(url.render_as_string(hide_password=False))
