"""Tests /mcp, by which AI assistants use the API: the official MCP client works with it, in the current revision of
the protocol and in earlier ones.
"""

import json
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.operator import Account, Accounts
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack

from testkit.foreign_packages import Installed, environment, installed_or_skip

HERE = Path(__file__).parent
#: How the client connects, and the revision that it agrees on.
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture(scope="session")
def installed() -> Installed:
    return installed_or_skip(HERE)


class Assistant:
    """A running program that calls tools with the official MCP client."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        agreed = self._read()
        self.version: str = agreed["version"]
        self.tools: list[str] = agreed["tools"]
        #: The names of the tools that were called, in order.
        self.called: list[str] = []

    def call(self, tool: str, **arguments: Any) -> Any:
        """Calls a tool, asserts that the call succeeded, and returns the data."""
        result = self._ask(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]

    def refused(self, tool: str, **arguments: Any) -> Any:
        """Calls a tool, asserts that it failed, and returns the error."""
        result = self._ask(tool, arguments)
        assert result["isError"], result
        return result["structuredContent"]

    def _ask(self, tool: str, arguments: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        self.called.append(tool)
        self._process.stdin.write(json.dumps([tool, arguments]) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the client ended: see its traceback above"
        return json.loads(line)


@contextmanager
def assistant(
    installed: Installed, stack: Stack, token: str | None, mode: str = "auto"
) -> Iterator[Assistant]:
    url = stack.base_url.removesuffix("/api/v1") + "/mcp"
    assert token is not None
    with subprocess.Popen(
        [installed.python, HERE / "call_tools.py", url, mode],
        env=environment() | {"MCP_TOKEN": token}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield Assistant(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_conversation_plans_publishes_and_answers(
    installed: Installed, stack: Stack, simulator: Simulator, account: Account, photo: str, mode: str
) -> None:
    with assistant(installed, stack, account.api.token, mode) as ai:
        assert ai.version == MODES[mode]
        assert len(ai.tools) > 12
        pages = ai.call("list_pages")["pages"]
        page_id = next(page["id"] for page in pages if page["platform"] == "FB")
        assert ai.call("get_account")["tier"] == "elite"
        assert ai.refused("validate_post", page_id="pag_0")["code"] == "NOT_FOUND"
        assert ai.call("validate_post", page_id=page_id, message="Fresh bread")["valid"]
        post = {"page_id": page_id, "message": f"Fresh bread {mode}", "media_urls": [photo]}
        key = uuid.uuid4().hex
        published = ai.call("publish_post", **post, idempotency_key=key)
        assert ai.call("publish_post", **post, idempotency_key=key) == published
        [listed] = ai.call("list_published_posts", page_id=page_id)["published_posts"]
        assert listed["id"] == published["post_id"]
        assert ai.call("get_post", id=published["post_id"])["post"]["status"] == "published"
        assert ai.call("get_engagement", id=published["post_id"])
        at = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        planned = ai.call("schedule_post", page_id=page_id, message="Later", scheduled_at=at)[
            "scheduled_post"
        ]
        assert (
            ai.call("edit_post", id=planned["id"], message="Later!")["scheduled_post"]["message"] == "Later!"
        )
        assert [it["id"] for it in ai.call("list_scheduled_posts")["scheduled_posts"]] == [planned["id"]]
        assert ai.call("cancel_post", id=planned["id"])["success"]
        assert ai.refused("retry_post", id=planned["id"])["recommended_fix"]
        simulator.comment("FB", published["platform_post_id"], "Is it vegan?")
        [found] = ai.call("list_comments", page_id=page_id, post_id=published["post_id"])["comments"]
        assert found["text"] == "Is it vegan?"
        reply = ai.call("reply_to_comment", page_id=page_id, comment_id=found["id"], message="It is.")
        assert reply["reply"]["message"] == "It is."
        assert ai.call("list_media")["media"] == []
        assert ai.call("write_caption", brand_id=account.brand_id, instruction="bread")["text"]
        image = ai.call("generate_image", prompt="bread")["media"]
        assert [it["media_id"] for it in ai.call("list_media")["media"]] == [image["media_id"]]
        assert (len(ai.called), set(ai.called)) == (20, set(ai.tools))


def test_a_token_that_may_only_read_cannot_post(
    installed: Installed, stack: Stack, accounts: Accounts
) -> None:
    account = accounts.new(scopes="read:pages,read:posts")
    with assistant(installed, stack, account.api.token) as ai:
        assert "publish_post" not in ai.tools
        told = ai.refused("publish_post", page_id=account.page_id("FB"), message="Hello")
        assert told["code"] == "MISSING_SCOPE"
        assert ai.call("list_published_posts")["published_posts"] == []
