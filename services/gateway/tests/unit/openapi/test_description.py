"""The generated description is valid OpenAPI and agrees with the rows and records."""

from typing import Any

import jsonschema_rs
import pytest

from contracts.errors import ERRORS
from contracts.platforms import PLATFORMS
from gateway.openapi.description import describe, refusals_of
from gateway.routes import ENDPOINTS


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return describe(ENDPOINTS)


def test_is_of_the_current_version_and_names_every_row(description: dict[str, Any]) -> None:
    assert (description["openapi"], description["info"]["version"]) == ("3.1.0", "1.3.0")
    operations = [operation for path in description["paths"].values() for operation in path.values()]
    assert len(operations) == len(ENDPOINTS)
    assert len({operation["operationId"] for operation in operations}) == len(ENDPOINTS)


def test_the_limits_of_each_platform_are_described_as_data_and_as_text(description: dict[str, Any]) -> None:
    platforms = description["x-platforms"]
    assert list(platforms) == list(PLATFORMS)
    assert (platforms["TW"]["message_limit"], platforms["TW"]["length_unit"]) == (280, "weighted characters")
    assert (platforms["IG"]["text_only"], platforms["TT"]["comments"], platforms["YT"]["photos"]) == (
        False,
        False,
        0,
    )
    assert "| TW (twitter) | 280 weighted characters | yes | 4 | 1 |" in description["info"]["description"]


def test_every_schema_is_a_valid_one_and_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    for name, schema in description["components"]["schemas"].items():
        jsonschema_rs.validator_for({**schema, "components": description["components"]})
        assert "#/components" in str(schema) or name


def test_answers_fit_their_schemas(client, bus, description: dict[str, Any]) -> None:
    bodies = {
        "/pages": client.get("/api/v1/pages"),
        "/pages/{id}": client.get("/api/v1/pages/pag_1"),
        "/posts/scheduled/{id}": client.get("/api/v1/posts/scheduled/pst_1"),
        "/me": client.get("/api/v1/me"),
        "/errors": client.get("/api/v1/errors"),
        "/": client.get("/api/v1/"),
    }
    for path, response in bodies.items():
        schema = description["paths"][path]["get"]["responses"][str(response.status_code)]["content"]
        whole = {**schema["application/json"]["schema"], "components": description["components"]}
        jsonschema_rs.validator_for(whole, validate_formats=True).validate(response.json)


def test_timestamps_are_date_times(description: dict[str, Any]) -> None:
    post = description["components"]["schemas"]["ScheduledPost"]["properties"]
    assert post["scheduled_at"]["format"] == "date-time"
    assert {"type": "string", "format": "date-time"} in post["published_at"]["anyOf"]


def test_a_path_field_is_no_part_of_the_body(description: dict[str, Any]) -> None:
    patch = description["paths"]["/posts/scheduled/{id}"]["patch"]
    body = patch["requestBody"]["content"]["application/json"]["schema"]
    assert "id" not in body["properties"]
    assert [parameter["name"] for parameter in patch["parameters"]] == ["id", "Idempotency-Key"]


@pytest.mark.parametrize("required", [True, False])
def test_a_key_is_called_required_where_the_deployment_requires_it(make_gateway, required: bool) -> None:
    client = make_gateway(idempotency_key_required=required)
    paths = client.get("/api/v1/openapi.json").json["paths"]
    keys = [
        parameter["required"]
        for path in paths.values()
        for operation in path.values()
        for parameter in operation["parameters"]
        if parameter["name"] == "Idempotency-Key"
    ]
    assert set(keys) == {required}


def test_every_refusal_of_a_row_is_listed_under_its_status(description: dict[str, Any]) -> None:
    for row in ENDPOINTS:
        responses = description["paths"][row.path][row.method.lower()]["responses"]
        for error in refusals_of(row):
            schema = responses[str(error.http_status)]["content"]["application/json"]["schema"]
            assert error.code in schema["properties"]["code"]["enum"]


def test_the_errors_page_is_the_table(client) -> None:
    rows = client.get("/api/v1/errors").json
    assert {row["code"]: row["http_status"] for row in rows} == {
        code: row.http_status for code, row in ERRORS.items()
    }
