"""`posthaste logs` lists requests. With --follow it shows each request once, even if connections break."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner, Result
from client_kit.misbehaving import LOST, MisbehavingServer, Reply, Request, error

from posthaste import RetryPolicy
from posthaste.cli.main import main

BEGIN = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)


def entry(number: int) -> dict[str, Any]:
    return {
        "id": f"log_{number:04}", "created_at": (BEGIN + timedelta(seconds=number)).isoformat(), "token_id": "tok_1",
        "method": "GET", "path": "/pages", "operation": "listPages", "status": 200, "code": None,
        "request_id": f"req_{number:04}", "duration_ms": 3, "replayed": False,
    }  # fmt: skip


class Log:
    """A server whose log has two more entries at each look. It lists them newest first and in pages, as the API
    does.
    """

    def __init__(self, server: MisbehavingServer, *, first: int, size: int, late: int | None = None) -> None:
        """`late` is the number of an entry that is listed one look later than its neighbours."""
        self.size, self.first, self.late, self.looks = size, first, late, 0
        self.asked: list[dict[str, list[str]]] = []
        server.routes["/api/v1/logs"] = self._look

    def _look(self, request: Request) -> Reply:
        query = parse_qs(urlsplit(request.path).query)
        self.asked.append(query)
        self.looks += "cursor" not in query
        there = min(self.first + (self.looks - 1) * 2, self.size)
        numbers = [n for n in range(there, 0, -1) if n != self.late or n <= there - 2]
        since = query.get("since")
        if since:
            numbers = [n for n in numbers if BEGIN + timedelta(seconds=n) >= datetime.fromisoformat(since[0])]
        if "cursor" in query:
            numbers = [n for n in numbers if n < int(query["cursor"][0])]
        shown = numbers[: int(query["limit"][0])]
        more = str(shown[-1]) if len(shown) < len(numbers) else None
        return Reply(200, {"entries": [entry(n) for n in shown], "next_cursor": more})


@pytest.fixture
def logs(server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setattr("posthaste.cli.session.RETRIES", RetryPolicy(max_retries=0))
    environment = {"POSTHASTE_URL": server.url, "POSTHASTE_TOKEN": "svc_live_x"}

    def logs(*options: str, json_first: bool = False) -> Result:
        arguments = [*(["--json"] if json_first else []), "logs", *options]
        return CliRunner().invoke(main, arguments, env=environment)

    return logs


def follow(logs: Callable[..., Result], *options: str) -> list[int]:
    """Returns the numbers of the requests that the command showed, in order."""
    result = logs("--follow", "--every", "0.1", *options, json_first=True)
    assert result.exit_code == 0, result.output
    return [int(json.loads(line)["request_id"][4:]) for line in result.stdout.splitlines()]


def test_the_latest_are_listed_oldest_first_over_as_many_pages_as_it_takes(
    logs: Callable[..., Result], server: MisbehavingServer
) -> None:
    Log(server, first=250, size=250)
    listed = json.loads(logs("-n", "230", json_first=True).stdout)
    assert [one["request_id"] for one in listed] == [f"req_{number:04}" for number in range(21, 251)]


def test_filters_are_sent(logs: Callable[..., Result], server: MisbehavingServer) -> None:
    log = Log(server, first=1, size=1)
    options = (
        "--errors --status 429 --code RATE_LIMITED --operation publishPost --method post --token-id tok_1"
    )
    result = logs(*options.split(), "--request-id", "req_1", "--since", "30m", "--until", "2026-12-01 09:00")
    assert result.exit_code == 0, result.output
    [asked] = log.asked
    since = datetime.fromisoformat(asked.pop("since")[0].replace("Z", "+00:00"))
    assert timedelta(minutes=29) < datetime.now(timezone.utc) - since < timedelta(minutes=31)
    until = datetime.fromisoformat(asked.pop("until")[0].replace("Z", "+00:00"))
    assert until == datetime(2026, 12, 1, 9).astimezone()
    assert {name: values[0] for name, values in asked.items()} == {
        "errors_only": "true", "status": "429", "code": "RATE_LIMITED", "operation": "publishPost", "method": "POST",
        "token_id": "tok_1", "request_id": "req_1", "limit": "20",
    }  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        ("--since", "yesterday"),
        ("--since", "999999d"),
        ("--status", "9"),
        ("--method", "TRACE"),
        ("--count", "2"),
        ("--follow", "--until", "1h"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told_before_the_server_is_asked(
    logs: Callable[..., Result], server: MisbehavingServer, options: tuple[str, ...]
) -> None:
    log = Log(server, first=1, size=1)
    assert logs(*options).exit_code == 2
    assert log.asked == []


def test_each_request_is_shown_once_in_its_order_after_the_latest(
    logs: Callable[..., Result], server: MisbehavingServer
) -> None:
    Log(server, first=5, size=11)
    assert follow(logs, "-n", "3", "--count", "9") == [3, 4, 5, 6, 7, 8, 9, 10, 11]


def test_of_more_than_a_page_in_a_moment_older_ones_are_not_shown_later(
    logs: Callable[..., Result], server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("posthaste.cli.logs._LATENESS", timedelta(hours=1))
    Log(server, first=250, size=254)
    assert follow(logs, "-n", "2", "--count", "6") == list(range(249, 255))


def test_a_request_that_is_listed_late_is_shown(
    logs: Callable[..., Result], server: MisbehavingServer
) -> None:
    Log(server, first=4, size=8, late=5)
    assert follow(logs, "-n", "1", "--count", "5") == [4, 6, 5, 7, 8]


def test_with_since_nothing_older_is_shown(logs: Callable[..., Result], server: MisbehavingServer) -> None:
    Log(server, first=4, size=8)
    assert follow(logs, "--since", "2026-11-26T12:00:03Z", "--count", "6") == [3, 4, 5, 6, 7, 8]


def test_no_request_is_missing_after_the_server_was_away(
    logs: Callable[..., Result], server: MisbehavingServer
) -> None:
    Log(server, first=2, size=8)
    moods = iter([LOST, None, LOST, error(503, "SERVICE_UNAVAILABLE"), None, LOST, LOST])
    server.mood = lambda: next(moods, None)
    assert follow(logs, "--count", "8") == list(range(1, 9))


def test_an_outage_is_told_once_and_a_lost_permission_ends_it(
    logs: Callable[..., Result], server: MisbehavingServer
) -> None:
    Log(server, first=1, size=1)
    moods = iter([None, LOST, LOST, error(401, "TOKEN_REVOKED")])
    server.mood = lambda: next(moods)
    result = logs("--follow", "--every", "0.1")
    assert result.exit_code == 3
    assert "GET /pages" in result.stdout
    assert result.stderr.count("trying again") == 1


def test_a_request_is_shown_with_its_attempts_and_deliveries(
    logs: Callable[..., Result], server: MisbehavingServer
) -> None:
    problem = {
        "code": "PLATFORM_REJECTED",
        "message": "too long (100)",
        "recommended_fix": "Change the post.",
    }
    attempt = {
        "number": 1,
        "outcome": "refused",
        "began_at": BEGIN.isoformat(),
        "ended_at": None,
        "error": problem,
    }
    post = {
        "id": "pst_1", "origin": "immediate", "status": "failed", "platform": "FB", "page_id": "pag_1",
        "brand_id": "brd_1", "permalink": None, "error": problem, "attempts": [attempt],
    }  # fmt: skip
    delivery = {
        "id": "dlv_1", "event_id": "evt_1", "event": "post.failed", "status": "delivered", "webhook_id": "whk_1",
        "attempts": [{"at": BEGIN.isoformat(), "status_code": 204, "duration_ms": 7, "error": None, "answer": None}],
        "next_attempt_at": None, "created_at": BEGIN.isoformat(),
    }  # fmt: skip
    details = {"entries": [entry(7)], "posts": [post], "deliveries": [delivery]}
    server.routes["/api/v1/logs/req_0007"] = lambda _: Reply(200, details)
    shown = logs("req_0007").stdout
    expected = (
        "req_0007",
        "pst_1  failed on FB pag_1",
        "refused: too long (100)",
        "post.failed to whk_1",
        "204 in 7 ms",
    )
    for text in expected:
        assert text in shown
    listed = json.loads(logs("req_0007", json_first=True).stdout)
    assert (listed["posts"][0]["id"], listed["deliveries"][0]["webhook_id"]) == ("pst_1", "whk_1")


def test_a_request_id_and_filters_exclude_each_other(logs: Callable[..., Result]) -> None:
    for options in (("--follow",), ("--errors",)):
        result = logs("req_1", *options)
        assert (result.exit_code, "leave out" in result.output) == (2, True)
