"""`posthaste webhooks listen` hands every event to a program until it is acknowledged once, even if connections
break.
"""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result
from client_kit.misbehaving import LOST, MisbehavingServer, Reply, Request, error

from posthaste import RetryPolicy, webhooks
from posthaste.cli.main import main

SECRET = "whsec_" + b64encode(b"k" * 33).decode()
SUBSCRIPTION = {
    "id": "whk_1", "name": "n", "url": "log:", "events": ["post.published"], "brand_ids": [], "status": "active",
    "disabled_reason": None, "consecutive_failures": 0, "last_delivery_at": None, "created_at": "2026-11-24T09:00:00Z",
}  # fmt: skip


def logged(number: int) -> dict[str, Any]:
    return {
        "id": f"dlv_{number}", "event_id": f"evt_{number}", "event": "post.published", "status": "skipped",
        "attempts": [], "next_attempt_at": None, "created_at": f"2026-11-24T09:00:{number:02}Z",
    }  # fmt: skip


def read(number: int) -> dict[str, Any]:
    """Returns a delivery with its content, which has characters that JSON can write in several ways."""
    event = {
        "id": f"evt_{number}",
        "event": "post.published",
        "created_at": "2026-11-24T09:00:00Z",
        "data": {"ü": "/"},
    }
    body = json.dumps(event, ensure_ascii=False)
    from time import time

    now = str(int(time()))
    signed = f"evt_{number}.{now}.{body}".encode()
    digest = hmac.digest(b64decode(SECRET.removeprefix("whsec_")), signed, hashlib.sha256)
    headers = {
        "Content-Type": "application/json", "webhook-id": f"evt_{number}", "webhook-timestamp": now,
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }  # fmt: skip
    return logged(number) | {"body": body, "headers": headers}


class Log:
    """A server whose log has two more deliveries at each look, up to `size`."""

    def __init__(self, server: MisbehavingServer, size: int) -> None:
        self.size, self.looks, self.deleted = size, 0, False
        base = "/api/v1/webhooks"
        server.routes[base] = lambda _: Reply(201, SUBSCRIPTION | {"secret": SECRET})
        server.routes[f"{base}/whk_1"] = self._delete
        server.routes[f"{base}/whk_1/deliveries"] = self._look
        for number in range(1, size + 1):
            server.routes[f"{base}/whk_1/deliveries/dlv_{number}"] = lambda _, number=number: Reply(
                200, read(number)
            )

    def _look(self, _: Request) -> Reply:
        self.looks += 1
        there = range(min(self.looks * 2, self.size), 0, -1)
        return Reply(200, {"deliveries": [logged(number) for number in there], "next_cursor": None})

    def _delete(self, _: Request) -> Reply:
        self.deleted = True
        return Reply(200, {"success": True, "id": "whk_1"})


@pytest.fixture
def program() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as program:
        program.routes["/hooks"] = lambda _: Reply(204, b"")
        yield program


@pytest.fixture
def listen(
    server: MisbehavingServer, program: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    monkeypatch.setattr("posthaste.cli.session.RETRIES", RetryPolicy(max_retries=0))
    environment = {"POSTHASTE_URL": server.url, "POSTHASTE_TOKEN": "svc_live_x"}

    def listen(*options: str, json_first: tuple[str, ...] = ()) -> Result:
        arguments = [
            *json_first,
            "webhooks",
            "listen",
            "--forward-to",
            f"{program.url}/hooks",
            "--every",
            "0.1",
        ]
        return CliRunner().invoke(main, [*arguments, *options], env=environment)

    return listen


def received(program: MisbehavingServer) -> list[str]:
    """Returns the ids of the events that the program got, after verifying each as a receiver does."""
    return [webhooks.read_delivery(one.body, one.headers, SECRET).id for one in program.requests]


def test_every_event_arrives_once_in_its_order_with_a_valid_signature(
    listen: Callable[..., Result], server: MisbehavingServer, program: MisbehavingServer
) -> None:
    log = Log(server, 5)
    result = listen("--count", "5")
    assert result.exit_code == 0, result.output
    assert received(program) == [f"evt_{number}" for number in range(1, 6)]
    assert f"Signing secret: {SECRET}" in result.stderr
    assert "post.published  evt_1  204" in result.stdout
    assert log.deleted


def test_no_event_is_lost_while_the_link_is_cut(
    listen: Callable[..., Result], server: MisbehavingServer, program: MisbehavingServer
) -> None:
    Log(server, 6)
    cuts = iter(
        [None, None, None, LOST, error(503, "SERVICE_UNAVAILABLE"), None, None, LOST, None, LOST, LOST]
    )
    server.mood = lambda: next(cuts, None)
    result = listen("--count", "6")
    assert result.exit_code == 0, result.output
    assert received(program) == [f"evt_{number}" for number in range(1, 7)]
    assert "Events wait in the log" in result.stderr


def test_a_program_that_is_away_gets_its_events_later(
    listen: Callable[..., Result], server: MisbehavingServer, program: MisbehavingServer
) -> None:
    Log(server, 2)
    program.next.extend([LOST, Reply(500, b"")])
    result = listen("--count", "2", json_first=("--json",))
    assert sorted(set(received(program))) == ["evt_1", "evt_2"]
    outcomes = [json.loads(line)["outcome"] for line in result.stdout.splitlines()]
    assert outcomes[0].startswith("no answer")
    assert outcomes[1:] == ["500", "204", "204"]


def test_an_existing_subscription_is_followed_from_now_on_and_kept(
    listen: Callable[..., Result], server: MisbehavingServer, program: MisbehavingServer
) -> None:
    log = Log(server, 8)
    result = listen("--webhook", "whk_1", "--count", "2")
    assert result.exit_code == 0, result.output
    assert received(program)[:2] == ["evt_5", "evt_6"]
    assert not log.deleted


def test_a_wrong_address_and_a_refusal_are_told(
    listen: Callable[..., Result], server: MisbehavingServer
) -> None:
    assert listen("--forward-to", "localhost:3000").exit_code == 2
    server.mood = lambda: error(403, "MISSING_SCOPE")
    assert listen().exit_code == 1


def test_listen_has_help() -> None:
    told = CliRunner().invoke(main, ["webhooks", "listen", "--help"]).output
    assert "Hand events to a program on this machine, signed, until Ctrl-C." in told
