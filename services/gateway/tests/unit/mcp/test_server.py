"""`POST /mcp` at a gateway over a fake bus: who may call which tool, and which API call it makes."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chassis.db.clock import LocalClock
from contracts.errors import PAGE_PUBLISH_GUARDRAIL, ApiError
from gateway.admission.message_limit import MOST_A_MINUTE
from gateway.mcp.tools import TOOLS, call_of
from gateway.routes import ENDPOINTS

PAGE = Path(__file__).parents[5] / "docs" / "mcp.md"
NEW_POST = {"page_id": "pag_1", "message": "Hello"}


@pytest.fixture
def ask(client: Any) -> Any:
    """`ask(method, headers=…, **params)` sends a message as clients of an earlier protocol version do. Returns the HTTP
    response.
    """

    def ask(method: str, *, headers: dict[str, str] | None = None, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        return client.post("/mcp", json=message, headers=headers)

    return ask


@pytest.fixture
def call(ask: Any) -> Any:
    """`call(tool, **arguments)` returns the result of a tool."""
    return lambda tool, **arguments: ask("tools/call", name=tool, arguments=arguments).json["result"]


def test_a_client_that_begins_with_initialize_gets_its_own_revision_or_the_newest(ask: Any) -> None:
    for offered, agreed in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25"), (None, "2025-11-25")):
        result = ask("initialize", protocolVersion=offered, capabilities={}, clientInfo={}).json["result"]
        assert (result["protocolVersion"], result["serverInfo"]["name"]) == (agreed, "posthaste")
    assert ask("ping").json["result"] == {}


def test_a_notification_is_accepted_without_an_answer(client: Any) -> None:
    response = client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (response.status_code, response.data) == (202, b"")


def test_there_is_no_stream_to_open_and_no_session_to_end(client: Any) -> None:
    for method in (client.get, client.delete):
        response = method("/mcp")
        assert (response.status_code, "POST" in response.headers["Allow"]) == (405, True)


def test_an_unknown_method_is_refused_as_each_revision_says(client: Any, ask: Any) -> None:
    response = ask("resources/list")
    assert (response.status_code, response.json["error"]["code"]) == (200, -32601)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    response = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 7, "method": "resources/list", "params": {"_meta": meta}},
        headers={"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/list"},
    )
    assert (response.status_code, response.json["id"]) == (404, 7)


@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
def test_nothing_is_told_without_a_token(client: Any, ask: Any, method: str) -> None:
    del client.environ_base["HTTP_AUTHORIZATION"]
    response = ask(method)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_a_page_of_another_site_in_a_browser_is_refused(ask: Any) -> None:
    assert ask("tools/list", headers={"Origin": "https://evil.example"}).status_code == 403
    assert ask("tools/list", headers={"Origin": "http://localhost:8000"}).status_code == 200


def test_a_token_for_everything_sees_all_tools(ask: Any) -> None:
    assert {tool["name"] for tool in ask("tools/list").json["result"]["tools"]} == set(TOOLS)


def test_a_narrow_token_sees_few_tools_and_is_refused_the_others(
    ask: Any, call: Any, bus: Any, kit: Any
) -> None:
    bus.answers["authenticate"] = kit.identity(scopes=("read:pages", "read:posts"))
    seen = {tool["name"] for tool in ask("tools/list").json["result"]["tools"]}
    assert seen == {
        "list_pages",
        "list_scheduled_posts",
        "get_post",
        "list_published_posts",
        "get_engagement",
    }
    result = call("publish_post", **NEW_POST)
    assert (result["isError"], result["structuredContent"]["code"]) == (True, "MISSING_SCOPE")
    assert bus.asked("publish_post") == []


def test_tools_are_few_named_alike_and_described(ask: Any) -> None:
    tools = ask("tools/list").json["result"]["tools"]
    assert 12 <= len(tools) <= 18
    for tool in tools:
        assert tool["name"].replace("_", "").isalpha()
        assert len(tool["description"]) > 20
        assert tool["inputSchema"]["type"] == "object"
        refs = json.dumps(tool["inputSchema"]).count('"$ref"')
        assert refs == json.dumps(tool["inputSchema"]).count('"#/$defs/')


def test_hints_tell_reading_from_writing_and_removing(ask: Any) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in ask("tools/list").json["result"]["tools"]}
    assert {name for name, it in hints.items() if it["destructiveHint"]} == {"edit_post", "cancel_post"}
    for name, tool in TOOLS.items():
        assert hints[name]["readOnlyHint"] == (tool.endpoint.method == "GET" or name == "validate_post")
        assert tool.endpoint in ENDPOINTS


def test_a_call_is_a_request_of_the_api_with_the_same_token_and_limits(call: Any, bus: Any) -> None:
    result = call("publish_post", **NEW_POST)
    assert (result["isError"], result["structuredContent"]["post_id"]) == (False, "pst_1")
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    [(caller, request)] = bus.asked("publish_post")
    assert (caller.token_id, request.page_id, request.message) == ("tok_1", "pag_1", "Hello")
    [(_, arrival)] = bus.asked("admit")  # the request that carries the call is not counted
    assert arrival.meter == "publishes"


def test_a_calls_answer_carries_the_rate_of_its_request(ask: Any) -> None:
    assert ask("tools/call", name="list_pages").headers["X-RateLimit-Remaining"] == "59"
    assert "X-RateLimit-Remaining" not in ask("tools/list").headers


def test_connecting_uses_no_request_of_the_account_but_has_a_limit(
    client: Any, ask: Any, call: Any, bus: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalClock, "now", lambda _: kit.NOW + timedelta(seconds=20))
    for method in ("initialize", "ping", "tools/list", "resources/list") * (MOST_A_MINUTE // 4 - 1):
        assert ask(method).status_code == 200
    client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    client.post("/mcp", data="no JSON", content_type="application/json")
    ask("tools/call", name="no such tool")
    call("cancel_post")  # without its id
    assert bus.asked("admit") == []
    for method in ("initialize", "ping", "tools/list"):
        refused = ask(method)
        assert (refused.status_code, refused.json["code"]) == (429, "RATE_LIMITED")
        assert refused.headers["Retry-After"] == "40"
    assert not call("publish_post", **NEW_POST)["isError"]  # only quota limits calls
    monkeypatch.setattr(LocalClock, "now", lambda _: kit.NOW + timedelta(seconds=60))
    assert ask("ping").status_code == 200


def test_calls_are_limited_by_quota_alone(call: Any, bus: Any) -> None:
    for _ in range(MOST_A_MINUTE + 1):
        assert not call("list_pages")["isError"]
    assert len(bus.asked("admit")) == MOST_A_MINUTE + 1


def test_a_key_goes_with_the_call(call: Any) -> None:
    # The gateway's own database is away here, so no key can be claimed: the same answer as without MCP.
    result = call("publish_post", idempotency_key="k-1", **NEW_POST)
    assert result["structuredContent"]["code"] == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize("key", ["", "k" * 121, "k\0", "k\n", "\x1b[0m"])
def test_a_key_that_no_header_could_carry_is_refused_as_the_header_is(call: Any, bus: Any, key: str) -> None:
    result = call("publish_post", idempotency_key=key, **NEW_POST)
    assert (result["isError"], result["structuredContent"]["code"]) == (True, "INVALID_IDEMPOTENCY_KEY")
    assert bus.asked("publish_post") == []


def test_a_refusal_tells_the_assistant_what_to_do(call: Any, bus: Any) -> None:
    bus.answers["schedule_post"] = ApiError(PAGE_PUBLISH_GUARDRAIL, retry_after_seconds=30)
    result = call("schedule_post", scheduled_at="2026-12-24T18:00:00Z", **NEW_POST)
    told = result["structuredContent"]
    assert (result["isError"], told["code"], told["retry_after_seconds"]) == (
        True,
        "PAGE_PUBLISH_GUARDRAIL",
        30,
    )
    assert told["recommended_fix"] == PAGE_PUBLISH_GUARDRAIL.recommended_fix


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("schedule_post", {**NEW_POST, "scheduled_at": "tomorrow"}), ("schedule_post", NEW_POST),
        ("schedule_post", {**NEW_POST, "scheduledAt": "2026-12-24T18:00:00Z"}), ("cancel_post", {}),
        ("cancel_post", {"id": 7}), ("cancel_post", {"id": "../../tokens"}), ("list_pages", {"limit": "many"}),
        ("list_pages", {"limit": {"a": 1}}), ("publish_post", {**NEW_POST, "idempotency_key": 3}),
        ("publish_post", {**NEW_POST, "message": "\x00"}), ("publish_post", {**NEW_POST, "idempotency_key": "ü\n"}),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told_and_change_nothing(call: Any, bus: Any, tool: str, arguments: Any) -> None:
    result = call(tool, **arguments)
    assert result["isError"]
    assert result["structuredContent"]["code"]
    assert not {name for name, _, _ in bus.calls} & {
        "schedule_post",
        "cancel_post",
        "publish_post",
        "list_pages",
    }


def test_an_unknown_tool_is_an_error_of_the_protocol(ask: Any) -> None:
    for params in ({"name": "delete_everything"}, {}, {"name": "list_pages", "arguments": []}):
        assert ask("tools/call", **params).json["error"]["code"] == -32602


def test_ids_go_into_the_path_and_the_rest_into_query_or_body() -> None:
    call = call_of(TOOLS["edit_post"], {"id": "pst_1", "message": None, "idempotency_key": "k"})
    assert (call.path, call.path_values, json.loads(call.body)) == (
        "/api/v1/posts/scheduled/pst_1", {"id": "pst_1"}, {"message": None},
    )  # fmt: skip
    call = call_of(TOOLS["list_pages"], {"platform": "FB", "limit": 5, "cursor": None})
    assert (call.query, call.body) == ("platform=FB&limit=5", b"")


def test_the_page_about_assistants_lists_every_tool_with_its_scope_and_operation() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{name}` | `{tool.endpoint.scope}` | {tool.endpoint.method} {tool.endpoint.path} |"
        for name, tool in TOOLS.items()
    ]
