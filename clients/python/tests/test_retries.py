"""Calls are repeated only when that is safe, with the same key, and for a limited time."""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from client_kit.misbehaving import LOST, SILENT, TRICKLED, UNREAD, MisbehavingServer, Reply, error

from posthaste import AsyncPosthaste, LimitReached, NoAnswer, Posthaste, RetryPolicy, ServerError
from posthaste.errors import AiError, ApiError


@pytest.mark.parametrize(
    "reply",
    [
        LOST,
        UNREAD,
        error(503, "SERVICE_UNAVAILABLE", retry_after=1),
        error(500, "SERVER_ERROR"),
        error(429, "RATE_LIMITED", retry_after=3),
        error(409, "IDEMPOTENCY_IN_PROGRESS", retry_after=1),
        Reply(502, b"<h1>Bad gateway</h1>"),
    ],
    ids=["lost", "unread", "503", "500", "429", "in-progress", "proxy"],
)
def test_a_write_is_repeated_with_the_same_key_and_takes_effect_once(
    client: Posthaste, server: MisbehavingServer, reply: Reply
) -> None:
    server.next.extend([reply, reply])
    post = client.publish_post(page_id="pag_1", message="once")
    assert post.post_id == "pst_1"
    assert server.effects == {"once": 1}
    assert len(server.requests) == 3
    assert len({request.key for request in server.requests}) == 1


@pytest.mark.parametrize("reply", [SILENT, TRICKLED], ids=["silent", "trickled"])
def test_an_answer_that_does_not_come_in_time_is_asked_for_again(
    make_client: Callable[..., Posthaste], server: MisbehavingServer, reply: Reply
) -> None:
    server.next.append(reply)
    make_client(timeout_seconds=0.4).publish_post(page_id="pag_1", message="slow")
    assert server.effects == {"slow": 1}
    assert len(server.requests) == 2


def test_each_write_has_a_key_of_its_own_unless_the_caller_gives_one(
    client: Posthaste, server: MisbehavingServer
) -> None:
    for key in (None, None, "mine"):
        client.publish_post(page_id="pag_1", message="hello", idempotency_key=key)
    first, second, third = (request.key for request in server.requests)
    assert len({first, second, third}) == 3
    assert third == "mine"


def test_retry_after_is_honoured(client: Posthaste, server: MisbehavingServer, pauses: list[float]) -> None:
    server.next.append(error(429, "RATE_LIMITED", retry_after=17))
    client.publish_post(page_id="pag_1", message="later")
    assert pauses == [17.0]


def test_pauses_grow_and_the_tries_are_bounded(
    make_client: Callable[..., Posthaste], server: MisbehavingServer, pauses: list[float]
) -> None:
    server.mood = lambda: error(503, "SERVICE_UNAVAILABLE")
    with pytest.raises(ServerError) as raised:
        make_client(max_retries=4).publish_post(page_id="pag_1", message="never")
    assert len(server.requests) == 5
    assert pauses == sorted(pauses)
    assert 0.3 < pauses[0] <= 0.5 < pauses[-1] <= 4.0
    assert raised.value.idempotency_key == server.requests[0].key


@pytest.mark.parametrize(
    "reply",
    [
        error(429, "DAILY_LIMIT_EXCEEDED", retry_after=40_000),
        error(429, "PAGE_PUBLISH_GUARDRAIL", retry_after_seconds=30),
    ],
    ids=["a long time", "no time"],
)
def test_a_limit_that_is_not_over_soon_is_raised_at_once(
    client: Posthaste, server: MisbehavingServer, pauses: list[float], reply: Reply
) -> None:
    server.next.append(reply)
    with pytest.raises(LimitReached):
        client.publish_post(page_id="pag_1", message="no")
    assert pauses == []


def test_an_outage_that_no_repetition_mends_is_raised_at_once(
    client: Posthaste, server: MisbehavingServer
) -> None:
    server.next.append(error(503, "AI_NOT_CONFIGURED"))
    with pytest.raises(AiError):
        client.publish_post(page_id="pag_1", message="no")
    assert len(server.requests) == 1


def test_a_refusal_is_not_repeated(client: Posthaste, server: MisbehavingServer) -> None:
    server.next.append(error(400, "VALIDATION_ERROR"))
    with pytest.raises(ApiError):
        client.publish_post(page_id="pag_1", message="no")
    assert len(server.requests) == 1


def test_a_write_that_takes_no_key_is_not_repeated_when_its_answer_is_lost(
    client: Posthaste, server: MisbehavingServer
) -> None:
    server.next.append(LOST)
    with pytest.raises(NoAnswer) as raised:
        client.log_in(email="ada@example.test", password="secret")
    assert raised.value.idempotency_key is None
    assert len(server.requests) == 1


def test_a_read_is_repeated(client: Posthaste, server: MisbehavingServer) -> None:
    server.routes["/api/v1/pages"] = lambda _: Reply(200, {"pages": [], "next_cursor": None})
    server.next.extend([LOST, error(503, "SERVICE_UNAVAILABLE")])
    assert client.list_pages().pages == []
    assert [request.key for request in server.requests] == ["", "", ""]


def test_a_server_that_is_away_is_tried_again_and_then_named(pauses: list[float]) -> None:
    with (
        Posthaste("t", base_url="http://127.0.0.1:1", retries=RetryPolicy(2), sleep=pauses.append) as client,
        pytest.raises(NoAnswer, match=r"could not be reached.*tried 3 times") as raised,
    ):
        client.publish_post(page_id="pag_1", message="no")
    assert raised.value.idempotency_key
    assert len(pauses) == 2


def test_a_thousand_writes_over_a_line_that_loses_answers_take_effect_once_each(
    make_client: Callable[..., Posthaste], server: MisbehavingServer
) -> None:
    chance = random.Random(18)
    replies = [LOST, UNREAD, error(503, "SERVICE_UNAVAILABLE"), error(429, "RATE_LIMITED", retry_after=1)]
    server.mood = lambda: chance.choice(replies) if chance.random() < 0.3 else None
    client = make_client(max_retries=20, timeout_seconds=20.0)
    messages = [f"post {number}" for number in range(1_000)]
    with ThreadPoolExecutor(16) as workers:
        posts = list(workers.map(lambda one: client.publish_post(page_id="pag_1", message=one), messages))
    assert server.effects == dict.fromkeys(messages, 1)
    assert [post.message for post in posts] == messages
    assert len(server.requests) > 1_200


def test_the_async_client_repeats_in_the_same_way(server: MisbehavingServer) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def publish() -> list[str]:
        async with AsyncPosthaste("t", base_url=server.url, timeout_seconds=0.4, sleep=sleep) as client:
            return [
                (await client.publish_post(page_id="pag_1", message=f"post {number}")).post_id
                for number in range(2)
            ]

    server.next.extend([LOST, error(503, "SERVICE_UNAVAILABLE", retry_after=2), TRICKLED, SILENT])
    assert asyncio.run(publish()) == ["pst_1", "pst_2"]
    assert server.effects == {"post 0": 1, "post 1": 1}
    assert pauses[1] == 2.0


def test_a_client_of_ones_own_is_used_and_stays_open(server: MisbehavingServer) -> None:
    with httpx2.Client(headers={"X-Extra": "yes"}) as http:
        with Posthaste("t", base_url=server.url, http=http) as client:
            client.publish_post(page_id="pag_1", message="hello")
        assert server.requests[0].headers["x-extra"] == "yes"
        assert not http.is_closed
