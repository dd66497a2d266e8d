"""Reads and answers MCP's messages over HTTP. Pure.

Revision 2026-07-28 has no sessions: every request states its protocol version in its headers and in `params._meta`,
and both must agree. Clients of earlier revisions begin with `initialize`; no answer depends on that.

Source, as of November 2026: the official Python SDK (mcp 2.3.0, mcp-types 2.3.0), which is the client in the tests.
The pages of the specification were not read.
"""

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from contracts.record import Record
from gateway.http.answers import Answer, encode

#: The revision without sessions.
CURRENT = "2026-07-28"
#: Revisions that begin with `initialize`, newest last. Earlier ones allow several messages in one body.
WITH_HANDSHAKE = ("2025-06-18", "2025-11-25")
SUPPORTED = (*WITH_HANDSHAKE, CURRENT)

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
#: A code of ours, in JSON-RPC's range for servers.
FOREIGN_ORIGIN = -32001
#: HTTP statuses of errors other than 400.
_STATUS = {METHOD_NOT_FOUND: 404, FOREIGN_ORIGIN: 403}

_META = "io.modelcontextprotocol/"
_VERSION_KEY, _CAPABILITIES_KEY = f"{_META}protocolVersion", f"{_META}clientCapabilities"
SERVER_INFO_KEY = f"{_META}serverInfo"
_VERSION_HEADER, _METHOD_HEADER = "HTTP_MCP_PROTOCOL_VERSION", "HTTP_MCP_METHOD"
_NAME_HEADER = "HTTP_MCP_NAME"
#: How a header carries text that is not plain ASCII.
_ENCODED_BEFORE, _ENCODED_AFTER = "=?base64?", "?="

Id = str | int


class Message(Record):
    """A message of an MCP client: a request, or a notification, which has no id and gets no answer."""

    method: str
    params: dict[str, Any]
    id: Id | None
    #: Whether the message is of the protocol revision without sessions.
    is_current: bool


class ProtocolError(Exception):
    """Raised for a message that cannot be handled. `code` is JSON-RPC's or MCP's."""

    def __init__(self, code: int, text: str, message: Message | None = None, *, data: Any = None) -> None:
        """`message` is the message that the error is about; None if it could not be read.

        An error about a message of an earlier revision is answered with HTTP status 200.
        """
        super().__init__(text)
        self.code, self.text, self.data = code, text, data
        self.id = None if message is None else message.id
        self.http_status = _STATUS.get(code, 400) if message is None or message.is_current else 200


def read(body: bytes, environ: Mapping[str, Any]) -> Message:
    """Parses a message from a request's body and headers (as WSGI names them). Raises ProtocolError if it is
    malformed.
    """
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ProtocolError(PARSE_ERROR, "The body is not JSON.") from None
    if (
        not isinstance(parsed, dict)
        or parsed.get("jsonrpc") != "2.0"
        or not isinstance(parsed.get("method"), str)
    ):
        raise ProtocolError(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 request or notification.")
    message_id, params = parsed.get("id"), parsed.get("params", {})
    if "id" in parsed and (not isinstance(message_id, str | int) or isinstance(message_id, bool)):
        raise ProtocolError(INVALID_REQUEST, "id must be a string or an integer.")
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_REQUEST, "params must be an object.")
    message = Message(
        method=parsed["method"], params=params, id=message_id, is_current=_is_current(params, environ)
    )
    if message.is_current:
        _check_current(message, environ)
    else:
        _check_version(message, environ.get(_VERSION_HEADER, WITH_HANDSHAKE[-1]))
    return message


def answer(message: Message, result: dict[str, Any]) -> Answer:
    return Answer(200, encode({"jsonrpc": "2.0", "id": message.id, "result": result}))


def accepted() -> Answer:
    """Returns the answer to a notification."""
    return Answer(202, b"")


def error_answer(error: ProtocolError) -> Answer:
    body = {"code": error.code, "message": error.text} | ({} if error.data is None else {"data": error.data})
    return Answer(error.http_status, encode({"jsonrpc": "2.0", "id": error.id, "error": body}))


def _is_current(params: dict[str, Any], environ: Mapping[str, Any]) -> bool:
    meta = params.get("_meta")
    return environ.get(_VERSION_HEADER) == CURRENT or (isinstance(meta, dict) and _VERSION_KEY in meta)


def _check_current(message: Message, environ: Mapping[str, Any]) -> None:
    """Checks what MCP's current revision requires of a message.

    Raises ProtocolError if `params._meta` lacks a field, if the headers differ from the body, or if the protocol
    version is not supported. For a notification, checks only the version.
    """
    if message.id is None:
        _check_version(message, environ.get(_VERSION_HEADER, ""))
        return  # headers of notifications are not defined
    meta = message.params.get("_meta")
    missing = [
        key for key in (_VERSION_KEY, _CAPABILITIES_KEY) if not isinstance(meta, dict) or key not in meta
    ]
    if not isinstance(meta, dict) or missing:
        raise ProtocolError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}.", message)
    stated = {
        _VERSION_HEADER: ("MCP-Protocol-Version", meta[_VERSION_KEY]),
        _METHOD_HEADER: ("Mcp-Method", message.method),
    }
    if message.method == "tools/call" and "name" in message.params:
        stated[_NAME_HEADER] = ("Mcp-Name", message.params["name"])
    for header, (name, expected) in stated.items():
        if _decoded(environ.get(header)) != expected:
            raise ProtocolError(HEADER_MISMATCH, f"The header {name} and the body differ.", message)
    _check_version(message, meta[_VERSION_KEY])


def _check_version(message: Message, version: str) -> None:
    if version not in SUPPORTED:
        raise ProtocolError(
            UNSUPPORTED_VERSION,
            f"Protocol version {version} is not supported.",
            message,
            data={"supported": list(SUPPORTED), "requested": version},
        )


def _decoded(header: str | None) -> str | None:
    """Returns a header's value, decoded if it is marked as Base64. Returns None if it is missing or badly encoded."""
    if header is None or not (header.startswith(_ENCODED_BEFORE) and header.endswith(_ENCODED_AFTER)):
        return header
    try:
        return base64.b64decode(header[len(_ENCODED_BEFORE) : -len(_ENCODED_AFTER)], validate=True).decode()
    except ValueError:
        return None
