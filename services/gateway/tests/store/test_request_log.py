"""The request log on a real database: what it holds, who sees it, and what happens while the database cannot be
reached.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from chassis.db import clock
from chassis.db.database import Database
from contracts import errors, publishing, webhooks
from contracts.errors import ApiError
from gateway.request_log import recorder
from gateway.request_log.recorder import RequestLog
from gateway.request_log.store import Criteria, Line

PUBLISH = "/api/v1/posts/publish"
BODY = {"page_id": "pag_1", "message": "a-secret-word"}
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.fixture
def request_log(database: Database) -> RequestLog:
    return RequestLog(database, keep_days=30)


@pytest.fixture
def logged(client: Any, database: Database) -> Callable[..., list[dict[str, Any]]]:
    """Returns the entries that GET /logs lists once all lines are written."""

    def entries(**query: Any) -> list[dict[str, Any]]:
        client.request_log.write()
        answer = client.get("/api/v1/logs", query_string=query)
        assert answer.status_code == 200, answer.json
        found: list[dict[str, Any]] = answer.json["entries"]
        return found

    return entries


def line(number: int = 1, **changes: Any) -> Line:
    values: dict[str, Any] = {
        "id": f"log_{number:04}", "account_id": "usr_1", "at": NOW, "token_id": "tok_1", "method": "GET",
        "path": "/pages", "operation": "listPages", "meter": "reads", "status": 200, "code": None,
        "request_id": f"req_{number}", "duration_ms": 3, "replayed": False,
    }  # fmt: skip
    return Line(**values | changes)


def count(database: Database, table: str = "request_log") -> int:
    with database.reading() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


class TestLines:
    def test_a_request_is_listed_with_its_operation_and_result(self, client, logged) -> None:
        answer = client.post(PUBLISH, json=BODY, headers={"X-Request-Id": "mine-1"})
        [entry] = logged()
        assert answer.status_code == 201
        assert {name: entry[name] for name in ("method", "path", "operation", "status", "code")} == {
            "method": "POST", "path": "/posts/publish", "operation": "publishPost", "status": 201, "code": None,
        }  # fmt: skip
        assert (entry["request_id"], entry["token_id"], entry["replayed"]) == ("mine-1", "tok_1", False)
        assert 0 <= entry["duration_ms"] < 10_000

    def test_a_refusal_is_listed_with_its_code(self, client, bus, kit, logged) -> None:
        client.post(PUBLISH, json={})
        bus.answers["publish_post"] = ApiError(errors.NOT_FOUND)
        client.post(PUBLISH, json=BODY)
        bus.answers["authenticate"] = kit.identity(scopes=("read:account",))
        bus.on_reset()
        client.post(PUBLISH, json=BODY)
        shown = [(entry["status"], entry["code"]) for entry in logged()]
        assert shown == [(403, "MISSING_SCOPE"), (404, "NOT_FOUND"), (400, "MISSING_FIELD")]

    def test_every_request_from_an_address_that_the_token_does_not_allow_is_listed(
        self, client, bus, kit, database
    ) -> None:
        bus.answers["authenticate"] = kit.identity(ip_allowlist=("10.0.0.0/8",))
        assert {client.get("/api/v1/me").status_code for _ in range(3)} == {403}
        client.request_log.write()
        assert count(database) == 3

    def test_a_token_over_its_limit_has_one_line_in_each_batch(self, client, bus, kit, logged) -> None:
        bus.answers["admit"] = kit.admitted(refused_code="RATE_LIMITED")
        for expected in (1, 2):
            for _ in range(3):
                assert client.post(PUBLISH, json=BODY).status_code == 429
            client.request_log.write()
            bus.answers["admit"] = kit.admitted()
            assert [entry["code"] for entry in logged()] == ["RATE_LIMITED"] * expected
            bus.answers["admit"] = kit.admitted(refused_code="RATE_LIMITED")

    def test_a_replay_is_marked(self, client, logged) -> None:
        for _ in range(2):
            client.post(PUBLISH, json=BODY, headers={"Idempotency-Key": "k-1"})
        assert [entry["replayed"] for entry in logged()] == [True, False]

    def test_no_body_query_header_or_id_of_the_path_is_stored(self, client, kit, database, logged) -> None:
        client.post(PUBLISH, json=BODY, headers={"Idempotency-Key": "a-secret-key"})
        client.get("/api/v1/pages?cursor=a-secret-cursor&x=a-secret-value")
        client.delete("/api/v1/posts/scheduled/pst_asecret")
        logged()
        with database.reading() as connection:
            stored = str(connection.execute(text("SELECT * FROM request_log")).all())
        assert "publishPost" in stored
        assert "secret" not in stored
        assert kit.TOKEN not in stored

    def test_reading_the_log_is_not_listed_but_a_refused_reading_is(self, client, logged) -> None:
        logged()
        client.get("/api/v1/logs?status=7")
        assert [(entry["operation"], entry["status"]) for entry in logged()] == [("listLogs", 400)]

    def test_requests_without_an_account_are_not_logged(self, client, bus, database, logged) -> None:
        client.get("/api/v1/errors")
        bus.answers["authenticate"] = ApiError(errors.INVALID_TOKEN)
        client.get("/api/v1/me")
        client.request_log.write()
        assert count(database) == 0

    def test_a_tools_call_over_mcp_is_logged_as_its_operation_once(self, client, logged) -> None:
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "list_pages", "arguments": {}},
        }
        accepts = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        answer = client.post("/mcp", json=call, headers={**accepts, "X-Request-Id": "mine-2"})
        assert answer.status_code == 200, answer.data
        assert [(entry["operation"], entry["request_id"]) for entry in logged()] == [("listPages", "mine-2")]


class TestList:
    def test_pages_go_on_where_the_last_one_ended(self, client, request_log) -> None:
        for number in range(5):
            request_log.note(line(number, at=NOW + timedelta(seconds=number // 2)))
        request_log.write()
        seen: list[str] = []
        cursor = ""
        while cursor is not None:
            page = client.get("/api/v1/logs", query_string={"limit": 2, "cursor": cursor}).json
            seen += [entry["id"] for entry in page["entries"]]
            cursor = page["next_cursor"]
        assert seen == ["log_0004", "log_0003", "log_0002", "log_0001", "log_0000"]

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ({"token_id": "tok_2"}, ["log_0002"]),
            ({"operation": "publishPost"}, ["log_0003"]),
            ({"method": "POST"}, ["log_0003"]),
            ({"status": 429}, ["log_0002"]),
            ({"code": "RATE_LIMITED"}, ["log_0002"]),
            ({"request_id": "req_3"}, ["log_0003"]),
            ({"errors_only": "true"}, ["log_0002"]),
            ({"since": "2026-11-26T12:00:02Z"}, ["log_0003", "log_0002"]),
            ({"until": "2026-11-26T12:00:02Z"}, ["log_0001"]),
            ({"method": "GET", "status": 200}, ["log_0001"]),
            ({"token_id": "tok_9"}, []),
            ({"tokens_only": "true"}, ["log_0003", "log_0002"]),
        ],
    )
    def test_it_is_filtered(self, client, request_log, query, expected) -> None:
        request_log.note(line(1, at=NOW + timedelta(seconds=1), token_id="ses_1"))
        request_log.note(
            line(2, at=NOW + timedelta(seconds=2), token_id="tok_2", status=429, code="RATE_LIMITED")
        )
        request_log.note(line(3, at=NOW + timedelta(seconds=3), method="POST", operation="publishPost"))
        request_log.write()
        answer = client.get("/api/v1/logs", query_string=query)
        assert [entry["id"] for entry in answer.json["entries"]] == expected

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("status=99", "VALIDATION_ERROR"),
            ("status=many", "VALIDATION_ERROR"),
            ("method=TRACE", "VALIDATION_ERROR"),
            ("limit=101", "VALIDATION_ERROR"),
            ("cursor=x", "VALIDATION_ERROR"),
            ("code=", "VALIDATION_ERROR"),
            ("errors_only=maybe", "VALIDATION_ERROR"),
            ("operation=%00", "VALIDATION_ERROR"),
            ("since=yesterday", "INVALID_DATE"),
            ("until=2026-11-26T12:00:00", "INVALID_DATE"),
        ],
    )
    def test_bad_filters_are_refused(self, client, query, code) -> None:
        answer = client.get(f"/api/v1/logs?{query}")
        assert (answer.status_code, answer.json["code"]) == (400, code)

    def test_others_requests_are_not_listed(self, request_log, logged) -> None:
        request_log.note(line(1, account_id="usr_2"))
        request_log.write()
        assert logged() == logged(token_id="tok_1") == logged(request_id="req_1") == []

    @pytest.mark.parametrize("path", ["/api/v1/logs", "/api/v1/account/usage"])
    def test_a_token_for_some_brands_sees_neither_log_nor_numbers(self, client, bus, kit, path) -> None:
        bus.answers["authenticate"] = kit.identity(brand_ids=("brd_1",))
        answer = client.get(path)
        assert (answer.status_code, answer.json["code"]) == (403, "BRAND_NOT_AUTHORIZED")


class TestWriting:
    def test_lines_written_twice_are_listed_and_counted_once(self, database, request_log) -> None:
        for _ in range(2):
            request_log.note(line(1))
            request_log.note(line(2))
            assert request_log.write() == 2
        with database.reading() as connection:
            assert connection.execute(text("SELECT requests FROM request_days")).scalars().all() == [2]
        assert count(database) == 2

    def test_lines_wait_while_the_database_is_away_and_beyond_a_number_the_oldest_are_dropped_and_counted(
        self, database, monkeypatch
    ) -> None:
        monkeypatch.setattr(recorder, "_MOST_WAITING", 3)
        request_log = RequestLog(Database("postgresql+psycopg2://nobody@127.0.0.1:1/nothing"), keep_days=30)
        dropped: list[float] = []
        monkeypatch.setattr(recorder.UNLOGGED, "add", dropped.append)
        for number in range(5):
            request_log.note(line(number))
            with pytest.raises(ApiError):
                request_log.write()
        request_log._database = database
        assert request_log.write() == 3
        found = request_log.page("usr_1", Criteria(), before=None, limit=9)
        assert [one.id for one in found] == ["log_0004", "log_0003", "log_0002"]
        assert dropped == [1, 1]

    def test_a_request_is_answered_while_the_log_cannot_be_written(self, make_gateway) -> None:
        client = make_gateway()
        assert client.get("/api/v1/pages").status_code == 200
        answer = client.get("/api/v1/logs")
        assert (answer.status_code, answer.json["code"]) == (503, "SERVICE_UNAVAILABLE")

    def test_without_days_to_keep_there_is_no_log(self, make_gateway, database) -> None:
        client = make_gateway(database, request_log_days=0)
        client.get("/api/v1/pages")
        client.request_log.write()
        assert count(database) == 0

    def test_old_lines_are_forgotten(self, database, request_log, monkeypatch) -> None:
        monkeypatch.setattr(recorder, "_FORGET_AT_ONCE", 2)
        with database.reading() as connection:
            now = clock.now(connection)
        for number in range(5):
            request_log.note(line(number, at=now - timedelta(days=31)))
        request_log.note(line(5, at=now - timedelta(days=29)))
        request_log.note(line(6, at=now - timedelta(days=500)))
        request_log.write()
        assert request_log.forget_old() == 6
        assert [one.id for one in request_log.page("usr_1", Criteria(), before=None, limit=9)] == ["log_0005"]
        assert count(database, "request_days") == 2


class TestUsage:
    def test_days_have_numbers_and_days_without_requests_zeros(self, client, database, request_log) -> None:
        with database.reading() as connection:
            now = clock.now(connection)
        at = {"at": now - timedelta(days=2)}
        publish = {"method": "POST", "meter": "publishes", **at}
        request_log.note(line(1, **at))
        request_log.note(line(2, **publish, status=201))
        request_log.note(line(3, **publish, status=201, replayed=True))
        request_log.note(line(4, **publish, status=429, code="RATE_LIMITED"))
        request_log.note(line(5, method="POST", meter="replies", **at))
        request_log.note(line(6, **at, status=503, code="SERVICE_UNAVAILABLE"))
        request_log.note(line(7, account_id="usr_2", **at))
        request_log.write()
        days = client.get("/api/v1/account/usage?days=3").json["days"]
        dates = [(now - timedelta(days=ago)).date().isoformat() for ago in range(3)]
        assert [day["date"] for day in days] == dates
        assert days[1] == dict.fromkeys(days[1], 0) | {"date": dates[1]}
        assert days[2] == {
            "date": dates[2], "requests": 6, "reads": 2, "writes": 4, "publishes": 1, "replies": 1, "refused": 1,
            "failed": 1,
        }  # fmt: skip

    @pytest.mark.parametrize("days", ["0", "367", "x"])
    def test_other_numbers_of_days_are_refused(self, client, days) -> None:
        answer = client.get(f"/api/v1/account/usage?days={days}")
        assert (answer.status_code, answer.json["code"]) == (400, "VALIDATION_ERROR")


class TestOneRequest:
    @pytest.fixture(autouse=True)
    def services(self, bus: Any) -> None:
        bus.answers |= {
            "find_posts": publishing.FoundPosts(
                posts=(
                    publishing.PostOfRequest(
                        id="pst_1", origin="immediate", status="published", platform="FB", page_id="pag_1",
                        brand_id="brd_1", permalink=None, error=None, attempts=(),
                    ),
                )
            ),
            "find_deliveries": webhooks.FoundDeliveries(deliveries=()),
        }  # fmt: skip

    @pytest.fixture
    def details(self, client: Any) -> Callable[[str], Any]:
        def ask(request_id: str) -> Any:
            client.request_log.write()
            return client.get(f"/api/v1/logs/{request_id}")

        return ask

    def test_a_write_is_shown_with_its_posts_and_deliveries(self, client, bus, details) -> None:
        client.post(PUBLISH, json=BODY, headers={"X-Request-Id": "mine-1"})
        answer = details("mine-1")
        assert answer.status_code == 200, answer.json
        assert [entry["operation"] for entry in answer.json["entries"]] == ["publishPost"]
        assert [post["id"] for post in answer.json["posts"]] == ["pst_1"]
        assert answer.json["deliveries"] == []
        [(made_by, _)] = bus.asked("publish_post")
        [(_, posts)], [(_, found)] = bus.asked("find_posts"), bus.asked("find_deliveries")
        assert posts.operation_ids == found.operation_ids == (made_by.operation_id,)
        assert found.post_ids == ("pst_1",)

    def test_a_replay_leads_to_what_the_first_request_made(self, client, bus, details) -> None:
        for name in ("first", "second"):
            client.post(PUBLISH, json=BODY, headers={"Idempotency-Key": "k-2", "X-Request-Id": name})
        assert details("second").json["entries"][0]["replayed"] is True
        [(made_by, _)] = bus.asked("publish_post")
        assert bus.asked("find_posts")[-1][1].operation_ids == (made_by.operation_id,)

    def test_requests_with_the_same_id_are_shown_together(self, client, bus, details) -> None:
        for _ in range(2):
            client.post(PUBLISH, json=BODY, headers={"X-Request-Id": "again"})
        assert len(details("again").json["entries"]) == 2
        assert len(bus.asked("find_posts")[-1][1].operation_ids) == 2

    def test_a_read_is_shown_without_asking_a_service(self, client, bus, details) -> None:
        client.get("/api/v1/pages", headers={"X-Request-Id": "read-1"})
        answer = details("read-1").json
        assert ([entry["operation"] for entry in answer["entries"]], answer["posts"]) == (["listPages"], [])
        assert bus.asked("find_posts") == []

    def test_unknown_and_others_requests_are_not_found(self, request_log, details) -> None:
        request_log.note(line(1, account_id="usr_2", operation_id="op_2"))
        request_log.write()
        for request_id in ("req_1", "req_unknown", "x" * 128):
            assert details(request_id).json["code"] == "NOT_FOUND"

    def test_a_token_without_their_scopes_sees_neither_posts_nor_deliveries(
        self, client, bus, kit, details
    ) -> None:
        client.post(PUBLISH, json=BODY, headers={"X-Request-Id": "mine-1"})
        bus.answers["authenticate"] = kit.identity(scopes=("read:account",))
        bus.on_reset()
        answer = details("mine-1").json
        assert (len(answer["entries"]), answer["posts"], answer["deliveries"]) == (1, None, None)
        assert bus.asked("find_deliveries") == []

    def test_a_token_for_some_brands_is_refused(self, client, bus, kit, details) -> None:
        bus.answers["authenticate"] = kit.identity(brand_ids=("brd_1",))
        assert details("mine-1").json["code"] == "BRAND_NOT_AUTHORIZED"
