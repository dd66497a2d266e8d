"""The generated description is valid OpenAPI and agrees with the endpoints and records in the code."""

import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema_rs
import pytest

from contracts.errors import ERRORS
from contracts.platforms import PLATFORMS
from contracts.record import Nothing
from contracts.webhooks import TEST_EVENT, EventName
from gateway.endpoint import Endpoint
from gateway.exchange import Exchange
from gateway.openapi.description import describe
from gateway.openapi.responses import refusals_of
from gateway.routes import ENDPOINTS


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return describe(ENDPOINTS)


def test_is_of_the_current_version_and_names_every_row(description: dict[str, Any]) -> None:
    assert (description["openapi"], description["info"]["version"]) == ("3.1.0", "1.3.0")
    operations = [operation for path in description["paths"].values() for operation in path.values()]
    assert len(operations) == len(ENDPOINTS)
    assert len({operation["operationId"] for operation in operations}) == len(ENDPOINTS)


def test_a_summary_that_takes_two_lines_in_the_source_is_whole() -> None:
    def handler(exchange: Exchange, request: Nothing) -> Nothing:
        """Does a thing,
        and another.

        Not in the summary.
        """
        return request

    row = Endpoint("GET", "/things", scope=None, meter="")(handler)
    assert row.summary == "Does a thing, and another."


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


def test_texts_speak_of_null_keep_values_as_they_are_and_have_no_lines_that_markdown_shows_as_code(
    description: dict[str, Any],
) -> None:
    schemas = description["components"]["schemas"]
    texts = [
        one["description"]
        for schema in schemas.values()
        for one in (schema, *schema.get("properties", {}).values())
        if "description" in one
    ]
    texts += [one["post"]["description"] for one in description["webhooks"].values()]
    assert [text for text in texts if re.search(r"\bNone\b|\n ", text)] == []
    assert (
        schemas["PostHold"]["properties"]["reason"]["description"]
        == "`token_revoked` or `collaborator_removed`"
    )


def test_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    references = set(references_in(description))
    assert "#/components/schemas/PartTag" in references  # inside a body
    assert {one for one in references if not leads_somewhere(description, one)} == set()


def test_a_reference_to_nothing_is_found() -> None:
    document = {"a": [{"$ref": "#/b/c"}], "b": {"d": 1}, "e": {"$ref": "#/b/d"}}
    assert [one for one in references_in(document) if not leads_somewhere(document, one)] == ["#/b/c"]


def references_in(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references_in(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from references_in(value)


def leads_somewhere(document: Any, reference: str) -> bool:
    found = document
    for name in reference.removeprefix("#/").split("/"):
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def test_every_schema_is_used_and_has_a_plain_name(description: dict[str, Any]) -> None:
    names = description["components"]["schemas"]
    assert set(references_in(description)) == {f"#/components/schemas/{name}" for name in names}
    assert [name for name in names if not re.fullmatch(r"[A-Z][A-Za-z]+", name)] == []


def test_every_body_has_a_name_of_its_own_and_accepts_one_way_to_say_where(
    description: dict[str, Any],
) -> None:
    schemas = description["components"]["schemas"]
    body = description["paths"]["/posts/schedule"]["post"]["requestBody"]["content"]["application/json"]
    ref = "#/components/schemas/"
    assert body["schema"] == {"oneOf": [{"$ref": f"{ref}SchedulePost"}, {"$ref": f"{ref}SchedulePosts"}]}
    assert schemas["SchedulePost"]["required"] == ["page_id", "scheduled_at"]
    assert schemas["SchedulePosts"]["required"] == ["page_ids", "scheduled_at"]
    assert "page_ids" not in schemas["SchedulePost"]["properties"]
    for _, _, operation in operations_in(description):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            options = content["schema"].get("oneOf", [content["schema"]])
            assert kind == "multipart/form-data" or all(set(option) == {"$ref"} for option in options)


def operations_in(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def test_operations_are_named_in_one_style_and_grouped(description: dict[str, Any]) -> None:
    names = {operation["operationId"] for _, _, operation in operations_in(description)}
    assert {"schedulePost", "listPages", "getMe", "createWebhook", "generateImage", "getAiJob"} <= names
    assert [name for name in names if not re.fullmatch(r"[a-z]+([A-Z][a-z]+)+", name)] == []
    tags = {tag["name"]: tag["description"] for tag in description["tags"]}
    for _, _, operation in operations_in(description):
        assert tags[operation["tags"][0]]


def test_servers_are_absolute_addresses_of_this_deployment(make_gateway) -> None:
    client = make_gateway(public_url="https://posthaste.test")
    told = client.get("/api/v1/openapi.json").json
    assert told["servers"] == [{"url": "https://posthaste.test/api/v1"}]
    assert told["paths"]["/auth/signup"]["post"]["servers"] == [{"url": "https://posthaste.test"}]


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


def test_settings_enums_and_fields_are_described(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    post = schemas["ScheduledPost"]["properties"]
    assert post["status"]["enum"] == ["queued", "held", "published", "failed", "cancelled"]
    assert post["platform"]["enum"] == list(PLATFORMS)
    assert post["linkedin_settings"]["anyOf"][0] == {"$ref": "#/components/schemas/LinkedInPostSettings"}
    assert schemas["LinkedInPostSettings"]["properties"]["visibility"] == {
        "description": "Who sees the post.",
        "enum": ["CONNECTIONS", "LOGGED_IN", "PUBLIC"],
        "default": "PUBLIC",
    }
    assert post["hold"]["description"] == "Set on a held post."


def test_every_event_of_a_subscription_is_described_with_its_body(description: dict[str, Any]) -> None:
    assert set(description["webhooks"]) == {*get_args(EventName), TEST_EVENT}
    body = description["webhooks"]["post.published"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/PostPublishedEvent"}
    event = description["components"]["schemas"]["PostPublishedEvent"]
    assert event["required"] == ["id", "event", "created_at", "data"]
    assert event["properties"]["event"] == {"enum": ["post.published"]}


def test_a_path_field_is_no_part_of_the_body(description: dict[str, Any]) -> None:
    patch = description["paths"]["/posts/scheduled/{id}"]["patch"]
    assert "id" not in description["components"]["schemas"]["EditPost"]["properties"]
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
