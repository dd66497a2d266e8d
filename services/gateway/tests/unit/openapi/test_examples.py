"""The examples in the description are real requests and answers. Its code samples send these requests."""

import ast
import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from gateway.endpoint import Endpoint
from gateway.openapi.description import describe
from gateway.openapi.events import ENVELOPES
from gateway.routes import ENDPOINTS

DESCRIPTION = describe(ENDPOINTS, public_url="https://posthaste.test")


def operation_of(row: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = DESCRIPTION["paths"][row.path][row.method.lower()]
    return found


def named(row: Endpoint) -> str:
    return row.handler.__name__


def examples_in(content: dict[str, Any]) -> list[Any]:
    several = [one["value"] for one in content.get("examples", {}).values()]
    return several or [content["example"]]


def fits(value: Any, schema: dict[str, Any]) -> None:
    whole = {**schema, "components": DESCRIPTION["components"]}
    jsonschema_rs.validator_for(whole, validate_formats=True).validate(value)


@pytest.mark.parametrize("row", [row for row in ENDPOINTS if row.reader.takes_body], ids=named)
def test_an_example_request_is_read_by_its_endpoint_and_fits_its_schema(row: Endpoint) -> None:
    content = operation_of(row)["requestBody"]["content"]["application/json"]
    for example in examples_in(content):
        assert row.reader.read(dict.fromkeys(row.path_names, "id_1"), "", json.dumps(example).encode())
        fits(example, content["schema"])


@pytest.mark.parametrize("row", [row for row in ENDPOINTS if row.result not in (bytes, str, None)], ids=named)
def test_an_example_answer_decodes_into_its_record_and_fits_its_schema(row: Endpoint) -> None:
    responses = operation_of(row)["responses"]
    some = [("207", [row.several])] if "207" in responses else []
    assert bool(some) == (row.several is not None and row.status != 200)  # a dry run has no half success
    for status, kinds in ((str(row.status), [row.result, row.several]), *some):
        content = responses[status]["content"]["application/json"]
        kinds = [kind for kind in kinds if kind is not None]
        for example, kind in zip(examples_in(content), kinds, strict=True):
            msgspec.convert(example, kind)
            fits(example, content["schema"])


@pytest.mark.parametrize("event", ENVELOPES)
def test_an_example_of_an_event_decodes_into_its_record_and_fits_its_schema(event: str) -> None:
    content = DESCRIPTION["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]
    assert msgspec.convert(content["example"], ENVELOPES[event]).event == event
    fits(content["example"], content["schema"])


@pytest.mark.parametrize("row", [row for row in ENDPOINTS if row.result is not str], ids=named)
def test_the_code_samples_send_the_example(row: Endpoint) -> None:
    operation = operation_of(row)
    curl, python, typescript = (one["source"] for one in operation["x-codeSamples"])
    words = shlex.split(curl.replace("\\\n", " "))
    assert words[:3] == ["curl", "-X", row.method]
    url = words[3]
    assert "{" not in url
    assert url.startswith("https://posthaste.test/")
    call = next(one for one in ast.walk(ast.parse(python)) if isinstance(one, ast.Call))
    assert [ast.literal_eval(argument) for argument in call.args] == [row.method, url]
    assert json.dumps(url) in typescript
    if row.reader.takes_body:
        example = examples_in(operation["requestBody"]["content"]["application/json"])[0]
        assert json.loads(words[words.index("-d") + 1]) == example
        [sent] = [ast.literal_eval(one.value) for one in call.keywords if one.arg == "json"]
        assert sent == example


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_typescript_samples_are_valid(tmp_path: Path) -> None:
    rows = [row for row in ENDPOINTS if row.result is not str and not row.streams]
    samples = [operation_of(row)["x-codeSamples"][2]["source"] for row in rows]
    samples_file = tmp_path / "samples.mjs"
    samples_file.write_text("\n".join(f"{{\n{sample}\n}}" for sample in samples))
    checked = subprocess.run(["node", "--check", str(samples_file)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
