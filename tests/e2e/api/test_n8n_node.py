"""Tests the n8n node against a whole stack; n8n's own engine sends the requests."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from e2e_kit.operator import Account

from testkit.n8n_node import N8nNode, installed_node

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[N8nNode]:
    with installed_node(tmp_path_factory.mktemp("n8n")) as node:
        yield node


@pytest.fixture
def run(node: N8nNode, account: Account) -> Run:
    credentials = {"baseUrl": account.api.base_url + "/", "token": str(account.api.token)}
    return lambda **asked: node.run(credentials, **asked)


def test_a_post_is_checked_scheduled_listed_and_cancelled(run: Run, account: Account) -> None:
    post = {"resource": "post", "pageId": account.page_id("FB"), "message": "From a workflow"}
    assert run(**post, operation="validate")["items"][0]["valid"] is True
    at = (datetime.now(UTC) + timedelta(days=3)).astimezone(ZoneInfo("Europe/Berlin")).replace(microsecond=0)
    without_offset = at.replace(tzinfo=None).isoformat()
    scheduled = run(**post, operation="schedule", scheduledAt=without_offset)["items"][0]["scheduled_post"]
    assert (
        datetime.fromisoformat(scheduled["scheduled_at"]) == at
    )  # the workflow's time zone is Europe/Berlin
    [listed] = run(resource="post", operation="listScheduled", returnAll=True)["items"]
    assert listed["id"] == scheduled["id"]
    [cancelled] = run(resource="post", operation="cancel", postId=scheduled["id"], execution_id="2")["items"]
    assert cancelled["success"] is True
    assert run(resource="post", operation="listScheduled")["items"] == []


def test_a_second_try_of_an_execution_makes_no_second_post_and_the_next_execution_does(
    run: Run, account: Account
) -> None:
    def publish(execution_id: str, workflow_id: str = "wf1") -> list[str]:
        made = run(
            resource="post", operation="publish", pageId=account.page_id("FB"), message="Fresh bread",
            items=[{}, {}], execution_id=execution_id, workflow_id=workflow_id,
        )  # fmt: skip
        return [one["post_id"] for one in made["items"]]

    first = publish("7")
    assert publish("7") == first
    assert len(set(first)) == 2  # each item is a post of its own
    assert not set(publish("8")) & set(first)
    assert not set(publish("7", "wf2")) & set(first)  # another installation of n8n counts from 1 too


def test_pages_are_listed_across_the_pages_of_the_list(run: Run, account: Account) -> None:
    wanted = sorted([account.page_id("FB"), account.page_id("IG")])
    assert (
        sorted(page["id"] for page in run(resource="page", operation="list", returnAll=True)["items"])
        == wanted
    )
    assert len(run(resource="page", operation="list", limit=1)["items"]) == 1


def test_an_error_says_what_the_api_said(run: Run) -> None:
    error = run(resource="post", operation="publish", pageId="pag_nothing", message="Hello")["error"]
    assert error["code"] == "404"
    assert error["message"] == "There is no such resource."
    assert error["description"].startswith("NOT_FOUND, request req_")
