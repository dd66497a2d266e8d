"""Which body and headers make a valid message of the Model Context Protocol."""

import json
from typing import Any

import pytest

from gateway.mcp import messages
from gateway.mcp.messages import CURRENT, ProtocolError

META = {
    "io.modelcontextprotocol/protocolVersion": CURRENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def body(method: str = "tools/list", **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, **more}).encode()


def headers(version: str = CURRENT, method: str = "tools/list", **more: str) -> dict[str, str]:
    return {"HTTP_MCP_PROTOCOL_VERSION": version, "HTTP_MCP_METHOD": method, **more}


def test_a_request_of_the_current_revision_states_its_version_twice() -> None:
    message = messages.read(body(params={"_meta": META}), headers())
    assert (message.method, message.id, message.is_current) == ("tools/list", 1, True)


def test_a_request_without_a_version_is_of_a_client_that_began_with_initialize() -> None:
    assert not messages.read(body(), {}).is_current


def test_a_message_without_an_id_is_a_notification() -> None:
    raw = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    assert messages.read(raw, {}).id is None


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"no JSON", b"[]", b"3", b'"text"', b"\xff", b"{}", b'{"jsonrpc": "1.0", "method": "ping", "id": 1}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}', b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}', b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}',
        b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_body_that_is_no_message_is_refused_with_status_400(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        messages.read(raw, {})
    answer = messages.error_answer(caught.value)
    assert answer.status == 400
    assert json.loads(answer.whole)["error"]["code"] in (messages.PARSE_ERROR, messages.INVALID_REQUEST)


@pytest.mark.parametrize(
    "told",
    [
        {}, headers(version="2025-11-25"), headers(method="tools/call"), {"HTTP_MCP_PROTOCOL_VERSION": CURRENT},
        headers(version=f"{CURRENT}, {CURRENT}"),
    ],
)  # fmt: skip
def test_headers_that_contradict_the_body_are_refused(told: dict[str, str]) -> None:
    with pytest.raises(ProtocolError) as caught:
        messages.read(body(params={"_meta": META}), told)
    assert caught.value.code == messages.HEADER_MISMATCH


def test_the_name_of_a_called_tool_stands_in_a_header_which_may_be_encoded() -> None:
    raw = body("tools/call", params={"_meta": META, "name": "grüße"})
    for name in ("=?base64?Z3LDvMOfZQ==?=", "grüße"):
        messages.read(raw, headers(method="tools/call", HTTP_MCP_NAME=name))
    for name in ("=?base64?%%%?=", "=?base64?/w==?=", "list_pages"):
        with pytest.raises(ProtocolError) as caught:
            messages.read(raw, headers(method="tools/call", HTTP_MCP_NAME=name))
        assert caught.value.code == messages.HEADER_MISMATCH


@pytest.mark.parametrize("meta", [None, 3, {}, {"io.modelcontextprotocol/protocolVersion": CURRENT}])
def test_what_the_current_revision_needs_in_every_request_must_be_there(meta: Any) -> None:
    with pytest.raises(ProtocolError) as caught:
        messages.read(body(params={"_meta": meta}), headers())
    assert caught.value.code == messages.INVALID_PARAMS


def test_an_unknown_version_is_told_the_known_ones() -> None:
    meta = META | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    for raw, told in ((body(params={"_meta": meta}), headers("2031-01-01")), (body(), headers("2024-01-01"))):
        with pytest.raises(ProtocolError) as caught:
            messages.read(raw, told)
        assert caught.value.code == messages.UNSUPPORTED_VERSION
        assert caught.value.data["supported"] == list(messages.SUPPORTED)
