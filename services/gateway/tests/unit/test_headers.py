"""No JSON answer may be cached or read as another type, for any route, method and error."""

import re
from typing import Any

import pytest

from contracts import errors
from contracts.errors import ApiError
from gateway.app import paths_of
from gateway.routes import ENDPOINTS

ROUTES = sorted(
    {(row.method, path) for row in ENDPOINTS for path in paths_of(row)}
    | {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/nowhere"),
        ("POST", "/mcp"),
        ("GET", "/docs/nowhere"),
    }
)


def assert_sealed_off(response: Any) -> None:
    assert response.content_type == "application/json"
    assert response.headers.getlist("Cache-Control") == ["no-store"]
    assert response.headers.getlist("X-Content-Type-Options") == ["nosniff"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_json_answer_of_a_route_has_both_headers(client: Any, method: str, path: str) -> None:
    address = re.sub("<.*?>", "facebook", path)
    answers = [
        client.open(address, method=method),
        client.open(address, method=method, json={}),
        client.open(address, method=method, data=b"{", content_type="application/json"),
        client.open(address, method=method, data=b"x", content_type="text/plain"),
        client.open(address, method="OPTIONS"),
    ]
    wrong = client.open(address, method="PURGE")
    client.environ_base.pop("HTTP_AUTHORIZATION")
    answers.append(client.open(address, method=method))
    assert_sealed_off(wrong)
    for answer in answers:
        if "json" in answer.content_type:
            assert_sealed_off(answer)


@pytest.mark.parametrize(
    ("path", "request_of", "status"),
    [
        ("/api/v1/pages", {}, 200),
        ("/api/v1/posts/schedule", {"method": "POST", "json": {}}, 400),
        ("/api/v1/pages", {"headers": {"Authorization": "Bearer x"}}, 401),
        ("/api/v1/unknown", {}, 404),
        ("/api/v1/pages", {"method": "PUT"}, 405),
        ("/api/v1/posts/schedule", {"method": "POST", "json": "x" * 2**20}, 413),
        ("/api/v1/posts/schedule", {"method": "POST", "data": b"x", "content_type": "text/plain"}, 415),
        ("/api/v1/pages", {"headers": {"Host": "a..b"}}, 400),
        ("/api/v1/pages/pag_bug", {}, 500),
        ("/media/k/missing.jpg", {}, 404),
    ],
)
def test_answers_of_every_kind_have_both_headers(
    client: Any, bus: Any, path: str, request_of: dict[str, Any], status: int
) -> None:
    bus.answers["get_page"] = ZeroDivisionError("a bug")
    bus.answers["locate_file"] = ApiError(errors.NOT_FOUND)
    response = client.open(path, **request_of)
    assert response.status_code == status
    assert_sealed_off(response)


@pytest.mark.parametrize("row", [errors.RATE_LIMITED, errors.SERVICE_UNAVAILABLE, errors.PLATFORM_REJECTED])
def test_what_a_service_refuses_has_both_headers(client: Any, bus: Any, row: errors.ErrorRow) -> None:
    bus.answers["list_pages"] = ApiError(row)
    response = client.get("/api/v1/pages")
    assert response.status_code == row.http_status
    assert_sealed_off(response)


def test_an_error_outside_the_pipeline_is_answered_like_any_other(client: Any) -> None:
    def fail(_environ: Any) -> Any:
        raise RuntimeError("outside the pipeline")

    client.application.view_functions["/healthz"] = fail
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json["code"]) == (500, "SERVER_ERROR")
    assert answer.json["request_id"] == answer.headers["X-Request-Id"]
    assert_sealed_off(answer)
