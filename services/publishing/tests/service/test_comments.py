"""comment.received on the bus: one event for each comment, although webhooks and polls both bring it and the service is
killed.
"""

import hashlib
import hmac
import json
import time
import zlib
from collections import Counter
from typing import Any

import pika
import pytest

from chassis.bus.topology import event_queue
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ApiError

SECRET = "app-secret"
GATEWAY = Caller(account_id="", user_id="gateway")


class Told:
    """The events in the queue of the webhooks service."""

    def __init__(self, amqp_url: str) -> None:
        self._connection = pika.BlockingConnection(pika.URLParameters(amqp_url))
        self._channel = self._connection.channel()
        self._events: dict[str, Any] = {}

    def comments(self) -> list[Any]:
        """Returns the comment of each event, once for each event id."""
        while (body := self._channel.basic_get(event_queue("webhooks"), auto_ack=True)[2]) is not None:
            event = json.loads(body)
            if event["event"] == "comment.received":
                self._events[event["id"]] = event["data"]["comment"]
        return list(self._events.values())

    def until(self, count: int, seconds: float) -> list[Any]:
        end = time.monotonic() + seconds
        while len(found := self.comments()) < count:
            assert time.monotonic() < end, f"{len(found)} of {count}"
            time.sleep(0.1)
        return found

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def told(publishing: Any) -> Any:
    told = Told(publishing.service.env["AMQP_URL"])
    yield told
    told.close()


def hook_of(page: api.Page, post: api.PublishResult, made: list[tuple[str, str]]) -> api.ReceiveHook:
    changes = [
        {
            "field": "feed",
            "value": {
                "item": "comment", "verb": "add", "comment_id": comment_id, "post_id": post.platform_post_id,
                "parent_id": post.platform_post_id, "message": text, "from": {"id": "77", "name": "Ann"},
                "created_time": int(time.time()),
            },
        }
        for comment_id, text in made
    ]  # fmt: skip
    entry = {"id": page.account_id, "time": int(time.time()), "changes": changes}
    body = json.dumps({"object": "page", "entry": [entry]}).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return api.ReceiveHook(platform="facebook", deflated_body=zlib.compress(body), signature=signature)


def deliver(service: Any, hook: api.ReceiveHook, seconds: float = 30.0) -> None:
    """Delivers a webhook as Meta does: again until the service accepts it. Then delivers it once more."""
    end, taken = time.monotonic() + seconds, 0
    while taken < 2:
        try:
            service.receive_hook(GATEWAY, hook, timeout_seconds=2.0)
            taken += 1
        except ApiError as error:
            assert error.code == "SERVICE_UNAVAILABLE", error
            assert time.monotonic() < end
            time.sleep(0.1)


def test_hooks_and_polls_over_a_kill_tell_of_each_comment_once(
    publishing: Any, simulator: Any, told: Told
) -> None:
    page = publishing.page()
    posts = [publishing.publish(page, message=f"post {number}") for number in range(2)]

    def write(numbers: range) -> list[api.ReceiveHook]:
        made: dict[int, list[tuple[str, str]]] = {0: [], 1: []}
        for number in numbers:
            body = {"platform": "FB", "post_id": posts[number % 2].platform_post_id, "from": "Ann"}
            made[number % 2].append((simulator.post("comments", **body, text=f"{number}")["id"], f"{number}"))
        return [hook_of(page, posts[half], rows) for half, rows in made.items()]

    for hook in write(range(40)):
        deliver(publishing.service, hook)
    lost = write(range(40, 60))
    publishing.service.receive_hook.start(GATEWAY, lost[0], timeout_seconds=0.2)
    publishing.service.kill()
    publishing.service.restart()
    deliver(publishing.service, lost[0])
    # The other half never comes by hook: the poll finds it, once the dead process's claims lapse.
    found = told.until(60, seconds=90)
    assert Counter(comment["text"] for comment in found) == Counter(f"{number}" for number in range(60))
    caller = publishing.caller()
    for post in posts:
        listed = publishing.service.list_comments(caller, api.ListComments(post_id=post.post_id, limit=100))
        assert {row.id for row in listed.comments} <= {comment["id"] for comment in found}
    assert len(told.comments()) == 60


def test_a_page_is_subscribed_when_it_is_linked(publishing: Any, simulator: Any) -> None:
    page = publishing.page("IG")
    end = time.monotonic() + 10
    while page.account_id not in simulator.get("meta/webhooks")["subscribed"]:
        assert time.monotonic() < end
        time.sleep(0.1)
