"""The order of the checks that refuse a request, what a request costs, and the headers and bodies of answers."""

import io
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from contracts import errors
from contracts.errors import ApiError
from contracts.record import Nothing
from gateway import exchange

BODY = {"page_id": "pag_1", "scheduled_at": "2027-01-01T00:00:00Z", "message": "Hello"}
SCHEDULE = "/api/v1/posts/schedule"
PUBLISH = "/api/v1/posts/publish"


def code(response: Any) -> tuple[int, str]:
    assert response.json["error"]
    assert response.json["request_id"] == response.headers["X-Request-Id"]
    return response.status_code, response.json["code"]


class TestIdentity:
    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ({}, "MISSING_TOKEN"),
            ({"Authorization": "Bearer"}, "MISSING_TOKEN"),
            ({"Authorization": "Bearer nonsense"}, "INVALID_TOKEN"),
            ({"Authorization": "Basic YTpi"}, "INVALID_TOKEN"),
            ({"X-API-Key": "svc_live_short"}, "INVALID_TOKEN"),
        ],
    )
    def test_malformed_tokens_are_refused_without_a_look_up(self, client, bus, headers, expected) -> None:
        client.environ_base.pop("HTTP_AUTHORIZATION")
        response = client.get("/api/v1/pages", headers=headers)
        assert code(response) == (401, expected)
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert bus.calls == []

    @pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
    def test_either_header_carries_the_token(self, client, kit, header) -> None:
        client.environ_base.pop("HTTP_AUTHORIZATION")
        value = f"bearer {kit.TOKEN}" if header == "Authorization" else kit.TOKEN
        assert client.get("/api/v1/pages", headers={header: value}).status_code == 200

    @pytest.mark.parametrize("row", [errors.TOKEN_REVOKED, errors.COLLABORATOR_INSUFFICIENT])
    def test_what_accounts_refuses_is_refused_and_not_kept(self, client, bus, kit, row) -> None:
        bus.answers["authenticate"] = ApiError(row)
        assert code(client.get("/api/v1/me")) == (row.http_status, row.code)
        bus.answers["authenticate"] = kit.identity()
        assert client.get("/api/v1/me").status_code == 200

    def test_a_token_that_expires_while_it_is_cached_is_refused(self, client, bus, kit) -> None:
        bus.answers["authenticate"] = kit.identity(expires_at=datetime.now(UTC) + timedelta(hours=1))
        assert client.get("/api/v1/me").status_code == 200
        bus.on_reset()
        bus.answers["authenticate"] = kit.identity(expires_at=datetime.now(UTC) - timedelta(milliseconds=1))
        assert code(client.get("/api/v1/me")) == (401, "TOKEN_EXPIRED")
        assert len(bus.asked("admit")) == 1


class TestOrder:
    def test_a_wrong_address_burns_no_quota(self, client, bus, kit) -> None:
        bus.answers["authenticate"] = kit.identity(ip_allowlist=("10.0.0.0/8",))
        assert code(client.get("/api/v1/pages")) == (403, "IP_NOT_ALLOWED")
        assert bus.asked("admit") == []
        assert client.get("/api/v1/pages", environ_base={"REMOTE_ADDR": "::ffff:10.1.2.3"}).status_code == 200

    def test_limits_come_before_scope_and_scope_before_what_is_wrong_with_the_body(
        self, client, bus, kit
    ) -> None:
        bus.answers["authenticate"] = kit.identity(scopes=("read:pages",))
        bus.answers["admit"] = kit.admitted(
            refused_code="RATE_LIMITED", refused_extras={"retry_after_seconds": 7}
        )
        response = client.post(SCHEDULE, json={})
        assert code(response) == (429, "RATE_LIMITED")
        assert response.headers["Retry-After"] == "7"
        assert response.headers["X-RateLimit-Limit"] == "60"
        bus.answers["admit"] = kit.admitted()
        response = client.post(SCHEDULE, json={})
        assert code(response) == (403, "MISSING_SCOPE")
        assert response.json["required_scope"] == "write:posts"
        assert response.json["your_scopes"] == ["read:pages"]
        bus.on_reset()
        bus.answers["authenticate"] = kit.identity()
        assert code(client.post(SCHEDULE, json={})) == (400, "MISSING_FIELD")

    def test_a_limit_is_told_before_what_a_read_itself_met(self, client, bus, kit) -> None:
        bus.answers["admit"] = kit.admitted(refused_code="DAILY_LIMIT_EXCEEDED")
        assert code(client.get("/api/v1/pages?limit=0")) == (429, "DAILY_LIMIT_EXCEEDED")
        bus.answers["list_pages"] = ApiError(errors.NOT_FOUND)
        assert code(client.get("/api/v1/pages")) == (429, "DAILY_LIMIT_EXCEEDED")

    def test_a_read_over_its_limit_reaches_no_service_again_in_that_minute(self, client, bus, kit) -> None:
        window = msgspec.structs.replace(
            kit.admitted().window, resets_at=datetime.now(UTC) + timedelta(seconds=30)
        )
        bus.answers["admit"] = kit.admitted(refused_code="RATE_LIMITED", window=window)
        for _ in range(3):
            assert client.get("/api/v1/pages").status_code == 429
        assert len(bus.asked("list_pages")) == 1

    @pytest.mark.parametrize(
        ("path", "method"),
        [("comments?post_id=pst_1", "list_comments"), ("posts/published/pst_1/engagement", "get_engagement")],
    )
    def test_a_read_that_calls_a_platform_calls_it_only_when_admitted(
        self, client, bus, kit, path, method
    ) -> None:
        bus.answers["admit"] = kit.admitted(refused_code="SANDBOX_EXHAUSTED")
        assert code(client.get(f"/api/v1/{path}")) == (402, "SANDBOX_EXHAUSTED")
        assert bus.asked(method) == []

    def test_a_missing_scope_burns_no_month_unit(self, client, bus, kit) -> None:
        bus.answers["authenticate"] = kit.identity(scopes=("read:pages",))
        client.post(SCHEDULE, json=BODY)
        client.get("/api/v1/pages")
        client.get("/api/v1/me")
        assert [request.meter for _, request in bus.asked("admit")] == ["", "reads", "reads"]

    @pytest.mark.parametrize("key", ["", "k" * 121, "k\0", "k\t", "\x7f"])
    def test_a_malformed_key_is_refused_after_the_scope_and_costs_no_month_unit(
        self, client, bus, key
    ) -> None:
        response = client.post(SCHEDULE, json=BODY, headers={"Idempotency-Key": key})
        assert code(response) == (400, "INVALID_IDEMPOTENCY_KEY")
        assert [request.meter for _, request in bus.asked("admit")] == [""]

    def test_a_deployment_may_require_a_key(self, make_gateway, bus) -> None:
        client = make_gateway(idempotency_key_required=True)
        assert code(client.post(SCHEDULE, json=BODY)) == (400, "INVALID_IDEMPOTENCY_KEY")
        assert client.get("/api/v1/pages").status_code == 200

    def test_with_the_gateways_database_away_only_writes_with_a_key_are_refused(self, client, bus) -> None:
        assert code(client.post(SCHEDULE, json=BODY, headers={"Idempotency-Key": "k"})) == (
            503,
            "SERVICE_UNAVAILABLE",
        )
        assert bus.asked("schedule_post") == []
        assert client.post(SCHEDULE, json=BODY).status_code == 201


class TestUnits:
    def test_every_write_has_an_operation_id_of_its_own(self, client, bus) -> None:
        client.post(SCHEDULE, json=BODY)
        client.post(SCHEDULE, json=BODY)
        ids = [caller.operation_id for caller, _ in bus.asked("schedule_post")]
        assert len(set(ids)) == 2
        assert [caller.operation_id for caller, _ in bus.asked("admit")] == ids

    @pytest.mark.parametrize(
        ("error", "refunds"),
        [
            (ApiError(errors.PLATFORM_REJECTED), 1),
            (ApiError(errors.SERVICE_UNAVAILABLE, retry_after_seconds=1), 0),
            (ApiError(errors.IDEMPOTENCY_IN_PROGRESS, retry_after_seconds=1), 0),
            (ValueError("a bug"), 0),
            (ApiError(errors.PLATFORM_OUTCOME_UNKNOWN, post_id="pst_1"), 0),
            (ApiError(errors.POST_IN_PROGRESS, post_id="pst_1"), 0),
        ],
    )
    def test_a_call_that_was_refused_gives_its_unit_back_and_one_whose_outcome_is_open_does_not(
        self, client, bus, error, refunds
    ) -> None:
        bus.answers["publish_post"] = error
        assert client.post(PUBLISH, json={"page_id": "pag_1", "message": "x"}).status_code >= 400
        expected = [Nothing()] * refunds
        assert [request for _, request in bus.asked("refund")] == expected

    def test_a_body_that_breaks_a_rule_costs_nothing(self, client, bus) -> None:
        client.post(PUBLISH, json={})
        assert len(bus.asked("refund")) == 1

    def test_reads_and_other_writes_are_counted_even_when_they_fail(self, client, bus) -> None:
        bus.answers["get_page"] = ApiError(errors.NOT_FOUND)
        bus.answers["cancel_post"] = ApiError(errors.NOT_FOUND)
        assert client.get("/api/v1/pages/pag_2").status_code == 404
        assert client.delete("/api/v1/posts/scheduled/pst_2").status_code == 404
        assert [request.meter for _, request in bus.asked("admit")] == ["reads", "writes"]
        assert bus.asked("refund") == []

    def test_an_admission_whose_answer_was_lost_is_given_back(self, client, bus) -> None:
        bus.answers["admit"] = ApiError(errors.SERVICE_UNAVAILABLE)
        assert code(client.post(SCHEDULE, json=BODY)) == (503, "SERVICE_UNAVAILABLE")
        [(caller, _)] = bus.asked("refund")
        assert caller.operation_id == bus.asked("admit")[0][0].operation_id

    def test_a_validation_is_not_counted(self, client, bus) -> None:
        bus.answers["validate_post"] = ApiError(errors.NOT_FOUND)
        client.post("/api/v1/posts/validate", json={"page_id": "pag_1"})
        assert [request.meter for _, request in bus.asked("admit")] == [""]


class TestAnswers:
    def test_carry_identity_rate_and_request_id(self, client, bus, kit) -> None:
        bus.answers["authenticate"] = kit.identity(scopes=("read:pages", "read:posts"), sandbox=True)
        response = client.get("/api/v1/pages", headers={"X-Request-Id": "my.request-1"})
        assert response.headers["X-Request-Id"] == "my.request-1"
        assert response.headers["X-API-Tier"] == "sandbox"
        assert response.headers["X-API-Scopes"] == "read:pages read:posts"
        assert response.headers["X-RateLimit-Remaining"] == "59"
        assert response.headers["X-RateLimit-Reset"] == str(int(kit.NOW.timestamp()))
        assert bus.asked("list_pages")[0][0].request_id == "my.request-1"

    @pytest.mark.parametrize("row", [errors.PAGE_PUBLISH_GUARDRAIL, errors.BRAND_PUBLISH_GUARDRAIL])
    def test_only_a_guardrail_that_passes_with_time_has_a_retry_after(self, client, bus, row) -> None:
        refused = ApiError(row, retry_after_seconds=20, next_allowed_at="2027-01-01T00:00:20Z")
        bus.answers |= dict.fromkeys(("publish_post", "schedule_post", "edit_post"), refused)
        told = {}
        for method, path in [
            ("POST", PUBLISH),
            ("POST", SCHEDULE),
            ("PATCH", "/api/v1/posts/scheduled/pst_1"),
        ]:
            response = client.open(path, method=method, json=BODY)
            assert code(response) == (429, row.code)
            assert response.json["retry_after_seconds"] == 20
            told[path] = response.headers.get("Retry-After")
        assert list(told.values()) == ["20", None, None]

    @pytest.mark.parametrize("offered", ["", "a b", "x" * 129, "é", "a\tb"])
    def test_a_malformed_request_id_is_replaced(self, client, offered) -> None:
        response = client.get("/api/v1/", headers={"X-Request-Id": offered})
        assert response.headers["X-Request-Id"].startswith("req_")

    def test_timestamps_are_in_milliseconds_whatever_a_message_looks_like(self, client, bus, kit) -> None:
        moment = kit.NOW.replace(microsecond=120_000)
        text = '"2026-01-01T00:00:00.123000Z" _at":"2026-01-01T00:00:00.123000Z'
        bus.answers["get_scheduled_post"] = msgspec.structs.replace(
            kit.POST, scheduled_at=moment, message=text
        )
        post = client.get("/api/v1/posts/scheduled/pst_1").json["scheduled_post"]
        assert post["scheduled_at"] == "2026-11-20T12:00:00.120Z"
        assert post["created_at"] == "2026-11-20T12:00:00Z"
        assert post["message"] == text

    def test_a_bug_is_a_server_error_that_tells_nothing(self, client, bus) -> None:
        bus.answers["list_pages"] = ZeroDivisionError("secret")
        response = client.get("/api/v1/pages")
        assert code(response) == (500, "SERVER_ERROR")
        assert "secret" not in response.text


class TestFrontDoor:
    @pytest.mark.parametrize(
        "path", ["/", "/api", "/api/v2/pages", "/api/v1/pages/", "/api/v1//pages", "/api/v1/pages/a/b"]
    )
    def test_an_unknown_path_is_a_404_with_or_without_a_token(self, client, path) -> None:
        assert code(client.get(path)) == (404, "NOT_FOUND")
        client.environ_base.pop("HTTP_AUTHORIZATION")
        assert code(client.get(path)) == (404, "NOT_FOUND")

    @pytest.mark.parametrize("path", ["/healthz", "/api/v1/pages", "/nowhere"])
    @pytest.mark.parametrize("host", ["a..b", ".", "x" * 64])
    def test_a_host_that_is_none_is_the_requests_fault(self, client, path, host) -> None:
        response = client.get(path, headers={"Host": host})
        assert code(response) == (400, "VALIDATION_ERROR")
        assert [error["field"] for error in response.json["errors"]] == ["request"]

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "TRACE", "PROPFIND"])
    def test_a_wrong_method_is_told_the_right_ones(self, client, method) -> None:
        response = client.open(SCHEDULE, method=method)
        assert code(response) == (405, "METHOD_NOT_ALLOWED")
        assert response.headers["Allow"] == "GET, HEAD, OPTIONS, POST"  # GET: of /posts/{id}

    def test_options_and_head_are_answered(self, client) -> None:
        response = client.options("/api/v1/posts/scheduled/pst_1")
        assert (response.status_code, response.headers["Allow"]) == (204, "DELETE, GET, HEAD, OPTIONS, PATCH")
        assert client.head("/api/v1/pages").status_code == 200

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    )
    def test_another_content_type_is_refused(self, client, kind) -> None:
        assert code(client.post(SCHEDULE, data=b"{}", content_type=kind)) == (415, "UNSUPPORTED_MEDIA_TYPE")

    def test_json_with_a_charset_or_without_a_type_is_taken(self, client) -> None:
        raw = msgspec.json.encode(BODY)
        assert (
            client.post(SCHEDULE, data=raw, content_type="application/json; charset=utf-8").status_code == 201
        )
        assert client.post(SCHEDULE, data=raw).status_code == 201

    def test_a_body_over_1_mib_is_refused_unread(self, client) -> None:
        response = client.post(SCHEDULE, data=b" " * (2**20 + 1), content_type="application/json")
        assert code(response) == (413, "PAYLOAD_TOO_LARGE")

    def test_a_body_that_takes_its_time_to_arrive_takes_none_of_the_deadline(
        self, client, bus, monkeypatch
    ) -> None:
        now = [0.0]
        monkeypatch.setattr(exchange, "time", SimpleNamespace(monotonic=lambda: now[0]))

        class Slow(io.BytesIO):
            def read(self, most: int | None = -1) -> bytes:
                now[0] += 11
                return super().read(most)

        raw = msgspec.json.encode(BODY)
        environ = {"wsgi.input": Slow(raw), "CONTENT_LENGTH": str(len(raw))}
        response = client.post(SCHEDULE, environ_overrides=environ, input_stream=environ["wsgi.input"])
        assert response.status_code == 201
        assert bus.timeouts["schedule_post"] == 10

    @pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff"])
    def test_a_body_that_is_no_json_object_is_refused(self, client, data) -> None:
        assert code(client.post(SCHEDULE, data=data, content_type="application/json")) == (
            400,
            "INVALID_JSON",
        )

    def test_health_and_readiness_need_no_token(self, client) -> None:
        client.environ_base.pop("HTTP_AUTHORIZATION")
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200
