"""/docs/postman.json is a collection that Postman reads, with a request for every operation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from flask.testing import FlaskClient

from gateway.openapi.description import describe
from gateway.routes import ENDPOINTS

SCHEMA = Path(__file__).with_name("postman-collection-2.1.0.json")


def requests_of(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if "item" in item:
            yield from requests_of(item["item"])
        else:
            yield item["request"]


@pytest.fixture
def collection(client: FlaskClient) -> Any:
    answer = client.get("/docs/postman.json")
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    return answer.json


def test_it_fits_postmans_own_schema(collection: Any) -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text()))
    assert [error.message for error in validator.iter_errors(collection)] == []
    assert not validator.is_valid(collection | {"item": [{"name": "no request"}]})


def test_every_operation_is_a_request(collection: Any) -> None:
    description = describe(ENDPOINTS)
    expected = {
        (method.upper(), path) for path, methods in description["paths"].items() for method in methods
    }

    def template(url: Any) -> str:
        return "/" + "/".join(f"{{{part[1:]}}}" if part.startswith(":") else part for part in url["path"])

    shown = {(request["method"], template(request["url"])) for request in requests_of(collection["item"])}
    assert len(expected) > 80
    assert shown == expected


def test_a_request_has_its_example_a_new_key_and_the_token(collection: Any) -> None:
    assert collection["auth"]["bearer"][0]["value"] == "{{token}}"
    found = [
        request
        for request in requests_of(collection["item"])
        if request["method"] == "POST" and request["url"]["raw"] == "{{baseUrl}}/posts/publish"
    ]
    one, several = (json.loads(request["body"]["raw"]) for request in found)
    assert ("page_id" in one, "page_ids" in several) == (True, True)
    assert [header["value"] for header in found[0]["header"]] == ["{{$guid}}"]


def test_what_needs_no_token_sends_none(collection: Any) -> None:
    [login] = [one for one in requests_of(collection["item"]) if one["url"]["path"] == ["auth", "login"]]
    assert (login["auth"], login["url"]["host"]) == ({"type": "noauth"}, ["{{rootUrl}}"])
