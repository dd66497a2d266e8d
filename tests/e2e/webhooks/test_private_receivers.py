"""Tests that nobody can reach the stack's own network by subscribing a URL in it (findings of an audit)."""

import uuid

import pytest
from e2e_kit.api import Json, refused
from e2e_kit.operator import Account
from e2e_kit.receiver import ARRIVAL_SECONDS, Answer, Receiver, deliveries, subscribe
from e2e_kit.stack import Stack
from e2e_kit.waiting import until


@pytest.mark.parametrize("server", ["S3_URL", "SIMULATOR_URL", "BASE_URL"])
def test_the_stack_s_own_servers_are_no_receivers(stack: Stack, shared: Account, server: str) -> None:
    """The ports of these servers are refused. The local stack allows receivers on every other port of the loopback."""
    body = {"name": "x", "url": f"{stack.env[server]}/", "events": ["post.published"]}
    answer = refused(shared.api.call("POST", "/webhooks", json=body), 400, "VALIDATION_ERROR")
    assert [error["field"] for error in answer["errors"]] == ["url"]


def test_what_a_private_receiver_answers_is_not_shown(shared: Account) -> None:
    path = f"/{uuid.uuid4().hex}"
    with Receiver() as receiver:
        receiver.answers(path, Answer(403, b"<Error>AccessDenied</Error>"))
        webhook_id = subscribe(shared, receiver.url(path))["id"]
        shared.api.post(f"/webhooks/{webhook_id}/test", status=202)

        def attempted() -> Json | None:
            [delivery] = deliveries(shared, webhook_id)
            return delivery if delivery["attempts"] else None

        [attempt, *_] = until(attempted, ARRIVAL_SECONDS, "the attempt is logged")["attempts"]
    assert (attempt["status_code"], attempt["error"], attempt["answer"]) == (403, "status", None)
    shared.api.delete(f"/webhooks/{webhook_id}")
