"""Answers `POST /mcp`: one JSON-RPC message in, one answer out, no session and no stream."""

from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import msgspec
import structlog

from contracts.errors import ERRORS
from contracts.record import Nothing
from gateway import API_VERSION, pipeline
from gateway.endpoint import Endpoint, endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.mcp import messages
from gateway.mcp.messages import FOREIGN_ORIGIN, INVALID_PARAMS, METHOD_NOT_FOUND, Message, ProtocolError
from gateway.mcp.tools import TOOLS, Call, Tool, call_of

log = structlog.get_logger()

_SERVER_INFO = {"name": "posthaste", "title": "Posthaste", "version": API_VERSION}
_CAPABILITIES: dict[str, Any] = {"tools": {"listChanged": False}}
_INSTRUCTIONS = (
    "Publishes and schedules posts on the social pages of this account, and answers comments. Begin with list_pages. "
    "Check a post with validate_post before you publish or schedule it. Posts and replies are public: ask the person "
    "before you send one that they have not seen. Send an idempotency_key with every write, and the same key when you "
    "repeat a call. The tools that you see are those that your token's scopes allow."
)
#: How long clients may keep the list of tools: it changes with a release, or with the token's scopes.
_KEEP_MS = 300_000
#: Parts of a request that a tool's call does not take over from the request that carries it.
_OWN_PARTS = (
    "HTTP_TRANSFER_ENCODING",
    "HTTP_IDEMPOTENCY_KEY",
    "HTTP_IF_NONE_MATCH",
    "HTTP_RANGE",
    "gunicorn.socket",
)


@endpoint("POST", "/mcp", scope=None, meter="", token=False, idempotent=False, outside=True)
def handle(exchange: Exchange, _request: Nothing) -> Answer:
    """Call the API's tools by the Model Context Protocol."""
    pipeline.identify(exchange)
    pipeline.check_address(exchange)
    answer = _answer(exchange)
    if exchange.admitted is None:  # no tool ran, so quota has not counted it
        exchange.services.message_limit.count(exchange.identity.token.id)
    return answer


def _answer(exchange: Exchange) -> Answer:
    try:
        _check_origin(exchange)
        message = messages.read(exchange.body, exchange.environ)
        if message.id is None:
            return messages.accepted()
        return messages.answer(message, _stamped(message, _result(exchange, message)))
    except ProtocolError as error:
        return messages.error_answer(error)


def _result(exchange: Exchange, message: Message) -> dict[str, Any]:
    """Carries out a message and returns its result. Raises ProtocolError for an unknown method or tool."""
    if message.method == "tools/call":
        return _call(exchange, message)
    if message.method == "tools/list":
        listed = [tool.listed for tool in TOOLS.values() if tool.is_for(exchange.caller)]
        return {"tools": listed, **_cacheable(message)}
    about = {"capabilities": _CAPABILITIES, "instructions": _INSTRUCTIONS}
    if message.method == "server/discover" and message.is_current:
        return {"supportedVersions": list(messages.SUPPORTED), **about, **_cacheable(message)}
    if message.method == "initialize" and not message.is_current:
        offered = message.params.get("protocolVersion")
        version = offered if offered in messages.WITH_HANDSHAKE else messages.WITH_HANDSHAKE[-1]
        return {"protocolVersion": version, "serverInfo": _SERVER_INFO, **about}
    if message.method == "ping":
        return {}
    raise ProtocolError(METHOD_NOT_FOUND, f"There is no method {message.method}.", message)


def _call(exchange: Exchange, message: Message) -> dict[str, Any]:
    """Runs a tool and returns its result. An error of the API is a result too, which the assistant can read and act on.

    Raises ProtocolError for an unknown tool, and for arguments that are not an object.
    """
    name, arguments = message.params.get("name"), message.params.get("arguments")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict | None):
        text = f"There is no tool {name!r}." if tool is None else "arguments must be an object."
        raise ProtocolError(INVALID_PARAMS, text, message)
    try:
        call = call_of(tool, arguments or {})
    except ValueError as error:
        return _shown({"error": str(error), "code": "VALIDATION_ERROR"}, is_error=True)
    answer = _run(exchange, tool, call)
    log.info("tool_called", tool=tool.name, status=answer.status, request_id=exchange.request_id)
    value: dict[str, Any] = msgspec.json.decode(answer.whole) if answer.body else {"success": True}
    if answer.status >= 400:
        value["recommended_fix"] = ERRORS[value["code"]].recommended_fix
    return _shown(value, is_error=answer.status >= 400)


def _run(exchange: Exchange, tool: Tool, call: Call) -> Answer:
    """Runs a tool's call through the pipeline as a separate request with the same token. The service `quota` counts
    it."""
    target: Endpoint = tool.endpoint
    environ = {name: value for name, value in exchange.environ.items() if name not in _OWN_PARTS}
    environ |= {
        "REQUEST_METHOD": target.method,
        "PATH_INFO": call.path,
        "QUERY_STRING": call.query,
        "CONTENT_LENGTH": str(len(call.body)),
        "CONTENT_TYPE": "application/json",
        "HTTP_X_REQUEST_ID": exchange.request_id,
        "wsgi.input": BytesIO(call.body),
    }
    if call.key is not None:
        environ["HTTP_IDEMPOTENCY_KEY"] = call.key
    request = Exchange(exchange.services, target, environ, call.path_values)
    answer = pipeline.run(request)
    exchange.admitted = request.admitted
    return answer


def _shown(value: Any, *, is_error: bool) -> dict[str, Any]:
    """Returns a tool's result in MCP's form: as text, which models read, and as data for programs."""
    text = msgspec.json.encode(value).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": is_error}


def _stamped(message: Message, result: dict[str, Any]) -> dict[str, Any]:
    """Adds what MCP's current revision requires in every result: its type, and the server's name and version."""
    if not message.is_current:
        return result
    return {"resultType": "complete", **result, "_meta": {messages.SERVER_INFO_KEY: _SERVER_INFO}}


def _cacheable(message: Message) -> dict[str, Any]:
    return {"ttlMs": _KEEP_MS, "cacheScope": "private"} if message.is_current else {}


def _check_origin(exchange: Exchange) -> None:
    """Raises ProtocolError for a request from another site's web page: any page that a person in the server's network
    visits could send such a request."""
    origin = exchange.environ.get("HTTP_ORIGIN")
    own = urlsplit(exchange.services.config.public_url)
    if origin is not None and origin != f"{own.scheme}://{own.netloc}":
        raise ProtocolError(FOREIGN_ORIGIN, f"Pages of {origin} may not call this server.")
