"""Tests webhooks: subscriptions, deliveries and their signatures, receivers, the delivery log and replays.

The receiver is a real server in the test process. The Python client verifies the signatures.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from e2e_kit.api import Api, instant, refused
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import Conversation, await_post, schedule
from e2e_kit.receiver import Answer, Receiver, await_delivery, deliveries, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from posthaste import webhooks

EVENTS = (
    "post.published", "post.failed", "comment.received", "comment.replied", "first_comment.failed", "page.expired",
    "page.connect.refused",
    "account.quota.warning", "account.credits.adjusted", "ai.job.completed", "ai.job.failed",
    "posts.held", "webhooks.disabled",
)  # fmt: skip
#: decisions "Webhook record"
FIELDS = {
    "id", "name", "url", "events", "brand_ids", "status", "disabled_reason", "consecutive_failures",
    "last_delivery_at", "created_at", "immediate_posts", "disabled_at",
}  # fmt: skip


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def path() -> str:
    """A path of the receiver that only this test uses."""
    return f"/{uuid.uuid4().hex}"


@pytest.fixture
def talk(account: Account, simulator: Simulator) -> Conversation:
    return Conversation(account, simulator)


class TestSubscriptions:
    def test_one_is_made_shown_changed_and_removed(self, api: Api, receiver: Receiver, path: str) -> None:
        body = {"name": "Orders", "url": receiver.url(path), "events": list(EVENTS)}
        made = api.post("/webhooks", body)
        secret = made.pop("secret")
        assert secret
        assert set(made) == FIELDS
        assert {name: made[name] for name in body} == body
        assert (made["status"], made["disabled_reason"], made["consecutive_failures"]) == ("active", None, 0)
        assert made["id"].startswith("whk_")
        assert api.get(f"/webhooks/{made['id']}") == made
        assert api.get("/webhooks") == {"webhooks": [made], "next_cursor": None}
        changed = api.patch(f"/webhooks/{made['id']}", {"name": "Posts", "events": ["post.failed"]})
        assert changed == made | {"name": "Posts", "events": ["post.failed"]}
        assert api.delete(f"/webhooks/{made['id']}") == {"success": True, "id": made["id"]}
        refused(api.call("GET", f"/webhooks/{made['id']}"), 404, "NOT_FOUND")
        refused(api.call("DELETE", f"/webhooks/{made['id']}"), 404, "NOT_FOUND")
        assert api.get("/webhooks")["webhooks"] == []

    def test_a_list_is_paged_newest_first_and_ends_at_twenty(self, account: Account) -> None:
        made = [subscribe(account, f"https://example.com/{number}")["id"] for number in range(20)]
        body = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]}
        refused(account.api.call("POST", "/webhooks", json=body), 409, "LIMIT_REACHED")
        first = account.api.get("/webhooks", limit=15)
        rest = account.api.get("/webhooks", limit=15, cursor=first["next_cursor"])
        assert [one["id"] for one in first["webhooks"] + rest["webhooks"]] == made[::-1]
        assert rest["next_cursor"] is None
        refused(account.api.call("GET", "/webhooks?cursor=made-up"), 400, "VALIDATION_ERROR")

    def test_a_key_makes_one_subscription_with_one_secret(self, account: Account) -> None:
        body, key = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]}, uuid.uuid4().hex
        first, again = (account.api.call("POST", "/webhooks", json=body, key=key) for _ in range(2))
        assert (again.status_code, again.json()) == (201, first.json())
        assert again.headers["Idempotency-Replayed"] == "true"
        assert len(account.api.get("/webhooks")["webhooks"]) == 1

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"name": "n" * 81}, "VALIDATION_ERROR"), ({"url": "nonsense"}, "VALIDATION_ERROR"),
            ({"url": "ftp://example.com/"}, "VALIDATION_ERROR"), ({"url": "http://10.0.0.1/"}, "VALIDATION_ERROR"),
            ({"events": []}, "VALIDATION_ERROR"), ({"events": ["webhook.test"]}, "VALIDATION_ERROR"),
            ({"events": None}, "MISSING_FIELD"), ({"name": None}, "MISSING_FIELD"),
        ],
    )  # fmt: skip
    def test_a_broken_rule_makes_nothing(self, shared: Account, change: Any, code: str) -> None:
        body = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]} | change
        refused(shared.api.call("POST", "/webhooks", json=body), 400, code)
        assert shared.api.get("/webhooks")["webhooks"] == []

    @pytest.mark.parametrize("server", ["S3_URL", "SIMULATOR_URL", "BASE_URL"])
    def test_the_stacks_own_servers_are_no_receivers(
        self, server: str, shared: Account, stack: Stack
    ) -> None:
        body = {"name": "n", "url": stack.env[server], "events": ["post.failed"]}
        refused(shared.api.call("POST", "/webhooks", json=body), 400, "VALIDATION_ERROR")
        assert shared.api.get("/webhooks")["webhooks"] == []

    def test_another_accounts_is_not_there(self, account: Account, shared: Account) -> None:
        webhook = subscribe(account, "https://example.com/")["id"]
        for method, rest in (
            ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/enable"), ("POST", "/test"),
            ("POST", "/rotate-secret"), ("GET", "/deliveries"), ("POST", "/deliveries/dlv_1/replay"),
        ):  # fmt: skip
            answer = shared.api.call(
                method, f"/webhooks/{webhook}{rest}", json={} if method != "GET" else None
            )
            refused(answer, 404, "NOT_FOUND")

    def test_a_sandbox_token_has_none(self, account: Account, accounts: Accounts) -> None:
        sandbox = accounts.client(account.sandbox_token)
        error = refused(sandbox.call("GET", "/webhooks"), 403, "MISSING_SCOPE")
        assert error["required_scope"] == "manage:webhooks"


class TestDeliveries:
    def test_a_published_post_arrives_signed(
        self, account: Account, operator: Operator, receiver: Receiver, path: str
    ) -> None:
        webhook = subscribe(account, receiver.url(path), "post.published", "post.failed")
        post = schedule(account, message="The night market opens at nine. Ünïcode 😀")
        operator("post", "due", post["id"])
        [arrival] = receiver.await_arrivals(path, 1)
        event = arrival.verified(webhook["secret"])
        assert event.event == "post.published"
        assert (event.data["userId"], event.data["brandId"]) == (account.user_id, account.brand_id)
        published = await_post(account.api, post["id"], status="published")
        assert event.data["post"]["id"] == post["id"]
        assert event.data["post"]["message"] == post["message"]
        assert event.data["post"]["remote_id"]
        assert event.data["post"]["permalink"] == published["permalink"]
        assert event.data["post"]["published_at"] == published["published_at"]
        [delivery] = deliveries(account, webhook["id"])
        assert arrival.headers["x-svc-event"] == "post.published"
        assert (arrival.headers["x-svc-delivery"], arrival.headers["x-svc-attempt"]) == (delivery["id"], "1")
        assert arrival.headers["content-type"].startswith("application/json")
        with pytest.raises(webhooks.SignatureMismatch):
            webhooks.verify(arrival.body + b" ", arrival.signature, webhook["secret"])

    def test_posts_made_at_once_arrive_only_where_they_are_asked_for_once_each(
        self, account: Account, operator: Operator, receiver: Receiver, path: str
    ) -> None:
        """The answer to the first request is dropped, and the request is repeated."""
        plain = subscribe(account, receiver.url(f"{path}/plain"), "post.published")
        every = subscribe(account, receiver.url(f"{path}/every"), "post.published", immediate_posts=True)
        assert (plain["immediate_posts"], every["immediate_posts"]) == (False, True)
        body, key = {"page_id": account.page_id(), "message": "At once"}, uuid.uuid4().hex
        with pytest.raises(requests.Timeout):
            account.api.call("POST", "/posts/publish", json=body, key=key, timeout=0.01)
        made = account.api.call("POST", "/posts/publish", json=body, key=key).json()["post_id"]
        [arrival] = receiver.await_arrivals(f"{path}/every", 1)
        assert arrival.verified(every["secret"]).data["post"]["id"] == made
        planned = schedule(account, message="Planned")["id"]
        operator("post", "due", planned)
        for name, expected in (("every", [made, planned]), ("plain", [planned])):
            arrivals = receiver.await_arrivals(f"{path}/{name}", len(expected))
            assert [json.loads(arrival.body)["data"]["post"]["id"] for arrival in arrivals] == expected

    def test_a_failed_post_arrives_with_its_reason(
        self, account: Account, operator: Operator, simulator: Simulator, receiver: Receiver, path: str
    ) -> None:
        webhook = subscribe(account, receiver.url(path), "post.failed")
        simulator.fault("reject", account.pages["FB"])
        post = schedule(account, message="no")
        operator("post", "due", post["id"])
        event = receiver.await_arrivals(path, 1)[0].verified(webhook["secret"])
        assert (event.data["post"]["id"], event.data["attempts"]) == (post["id"], 1)
        assert event.data["error"]["code"] == "PLATFORM_REJECTED"

    def test_a_reply_arrives_and_is_logged(self, talk: Conversation, receiver: Receiver, path: str) -> None:
        account = talk.account
        webhook = subscribe(account, receiver.url(path))
        reply = talk.reply()
        [arrival] = receiver.await_arrivals(path, 1)
        event = arrival.verified(webhook["secret"])
        assert event.data["reply"]["id"] == reply["id"]
        assert (event.data["pageId"], event.data["postId"]) == (talk.page["id"], talk.post["post_id"])
        delivery = await_delivery(account, webhook["id"], status="delivered")
        assert (delivery["event_id"], delivery["event"]) == (event.id, "comment.replied")
        [attempt] = delivery["attempts"]
        assert (attempt["status_code"], attempt["error"], delivery["next_attempt_at"]) == (204, None, None)
        assert abs((instant(attempt["at"]) - arrival.at).total_seconds()) < 2
        assert 0 <= attempt["duration_ms"] < 10_000
        shown = account.api.get(f"/webhooks/{webhook['id']}")
        assert instant(shown["last_delivery_at"]) >= instant(attempt["at"])

    def test_a_refusal_is_logged_with_its_status_and_without_the_answer_of_a_private_server(
        self, talk: Conversation, receiver: Receiver, path: str
    ) -> None:
        receiver.answers(path, Answer(500, b"oh no " * 1_000))
        webhook = subscribe(talk.account, receiver.url(path))
        talk.reply()
        receiver.await_arrivals(path, 1)

        def logged() -> Any:
            [delivery] = deliveries(talk.account, webhook["id"])
            return delivery if delivery["attempts"] else None

        delivery = until(logged, 30, "the attempt is in the log")
        [attempt] = delivery["attempts"]
        assert (delivery["status"], attempt["status_code"]) == ("pending", 500)
        assert attempt["error"]
        assert attempt["answer"] is None
        wait = (instant(delivery["next_attempt_at"]) - instant(attempt["at"])).total_seconds()
        assert 30 <= wait <= 31.5
        assert talk.account.api.get(f"/webhooks/{webhook['id']}")["consecutive_failures"] == 1

    def test_a_redirect_is_a_failure_and_is_not_followed(
        self, talk: Conversation, receiver: Receiver, path: str
    ) -> None:
        receiver.answers(path, Answer(307, Location=receiver.url(f"{path}/canary")))
        webhook = subscribe(talk.account, receiver.url(path))
        talk.reply()

        def tried() -> Any:
            return [one["attempts"] for one in deliveries(talk.account, webhook["id"]) if one["attempts"]]

        [[attempt]] = until(tried, 30, "the attempt is in the log")
        assert attempt["status_code"] == 307
        assert receiver.arrivals(f"{path}/canary") == []

    def test_a_receiver_that_is_gone_disables_its_subscription_until_it_is_enabled(
        self, talk: Conversation, receiver: Receiver, path: str
    ) -> None:
        receiver.answers(path, Answer(410))
        api, webhook = talk.account.api, subscribe(talk.account, receiver.url(path))
        talk.reply()
        until(lambda: api.get(f"/webhooks/{webhook['id']}")["status"] == "disabled", 30, "disabled")
        shown = api.get(f"/webhooks/{webhook['id']}")
        assert shown["disabled_reason"]
        assert shown["created_at"] < shown["disabled_at"]
        assert [one["status"] for one in deliveries(talk.account, webhook["id"])] == ["failed"]
        talk.reply()  # to nobody
        receiver.answers(path, Answer(204))
        enabled = api.post(f"/webhooks/{webhook['id']}/enable", status=200)
        assert (enabled["status"], enabled["disabled_reason"], enabled["consecutive_failures"]) == (
            "active",
            None,
            0,
        )
        reply = talk.reply()
        last = receiver.await_arrivals(path, 2)[-1]
        assert last.verified(webhook["secret"]).data["reply"]["id"] == reply["id"]


class TestWhoGetsWhat:
    def test_a_subscription_gets_its_events_alone(
        self, talk: Conversation, operator: Operator, receiver: Receiver, path: str
    ) -> None:
        subscribe(talk.account, receiver.url(f"{path}/replies"), "comment.replied")
        subscribe(talk.account, receiver.url(f"{path}/posts"), "post.published", "post.failed")
        talk.reply()
        post = schedule(talk.account, message="x")
        operator("post", "due", post["id"])
        [posts], [replies] = (receiver.await_arrivals(f"{path}/{name}", 1) for name in ("posts", "replies"))
        assert (posts.headers["x-svc-event"], replies.headers["x-svc-event"]) == (
            "post.published",
            "comment.replied",
        )

    def test_a_brand_limited_subscription_gets_its_brands_events_alone(
        self, account: Account, accounts: Accounts, simulator: Simulator, receiver: Receiver, path: str
    ) -> None:
        other = accounts.brand(account.user_id, "Night Market")["id"]
        talks = {
            account.brand_id: Conversation(account, simulator),
            other: Conversation(account, simulator, accounts.page(other)),
        }
        for name, brands in {
            "mine": [account.brand_id],
            "other": [other],
            "both": [account.brand_id, other],
        }.items():
            subscribe(account, receiver.url(f"{path}/{name}"), brand_ids=brands)
        subscribe(account, receiver.url(f"{path}/all"))
        replies = {brand: talk.reply()["id"] for brand, talk in talks.items()}

        def got(name: str, count: int) -> list[Any]:
            arrivals = receiver.await_arrivals(f"{path}/{name}", count)
            return sorted(json.loads(one.body)["data"]["reply"]["id"] for one in arrivals)

        assert got("all", 2) == got("both", 2) == sorted(replies.values())
        assert got("mine", 1) == [replies[account.brand_id]]
        assert got("other", 1) == [replies[other]]

    def test_brands_that_are_not_theirs_are_refused(self, account: Account, shared: Account) -> None:
        body = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]}
        for brand in (shared.brand_id, "brd_unknown"):
            answer = account.api.call("POST", "/webhooks", json=body | {"brand_ids": [brand]})
            refused(answer, 404, "NOT_FOUND", field="brand_ids")

    def test_a_restricted_token_sees_and_makes_what_is_within_its_brands(
        self, account: Account, accounts: Accounts
    ) -> None:
        other = accounts.brand(account.user_id, "Night Market")["id"]
        token = accounts.token(account.user_id, "manage:webhooks", "--brand", account.brand_id)["api_token"]
        restricted = accounts.client(token)
        wide = subscribe(account, "https://example.com/")["id"]
        foreign = subscribe(account, "https://example.com/", brand_ids=[other])["id"]
        owners = subscribe(account, "https://example.com/", brand_ids=[account.brand_id])["id"]
        body = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]}
        own = restricted.post("/webhooks", body)
        assert own["brand_ids"] == [account.brand_id]
        assert [one["id"] for one in restricted.get("/webhooks")["webhooks"]] == [own["id"]]
        for webhook in (wide, foreign, owners):
            assert restricted.call("DELETE", f"/webhooks/{webhook}").status_code in (403, 404)
        refused(restricted.call("POST", f"/webhooks/{owners}/rotate-secret", json={}), 404, "NOT_FOUND")
        answer = restricted.call("POST", "/webhooks", json=body | {"brand_ids": [other]})
        refused(answer, 403, "BRAND_NOT_AUTHORIZED")
        assert len(account.api.get("/webhooks")["webhooks"]) == 4


class TestTheLog:
    def test_is_filtered_and_paged_newest_first(
        self, talk: Conversation, receiver: Receiver, path: str
    ) -> None:
        account, webhook = talk.account, subscribe(talk.account, receiver.url(path))["id"]
        for number in range(5):
            talk.reply(f"number {number}")
        until(lambda: len(deliveries(account, webhook, status="delivered")) == 5, 30, "all are delivered")
        whole = deliveries(account, webhook)
        assert [instant(one["created_at"]) for one in whole] == sorted(
            (instant(one["created_at"]) for one in whole), reverse=True
        )
        first = account.api.get(f"/webhooks/{webhook}/deliveries", limit=3)
        rest = account.api.get(f"/webhooks/{webhook}/deliveries", limit=3, cursor=first["next_cursor"])
        assert first["deliveries"] + rest["deliveries"] == whole
        assert (rest["next_cursor"], deliveries(account, webhook, status="failed")) == (None, [])

    def test_a_delivery_is_replayed_under_the_same_event_id(
        self, talk: Conversation, receiver: Receiver, path: str
    ) -> None:
        account, webhook = talk.account, subscribe(talk.account, receiver.url(path))
        talk.reply()
        delivered = await_delivery(account, webhook["id"], status="delivered")
        used = account.api.get("/account")["quota"]["monthly"]["webhooks"]["used"]
        replay = f"/webhooks/{webhook['id']}/deliveries/{delivered['id']}/replay"
        assert account.api.post(replay, status=202)["id"] == delivered["id"]
        first, second = receiver.await_arrivals(path, 2)
        assert second.body == first.body
        assert second.verified(webhook["secret"]).id == delivered["event_id"]
        assert (first.headers["x-svc-attempt"], second.headers["x-svc-attempt"]) == ("1", "2")
        until(
            lambda: len(deliveries(account, webhook["id"])[0]["attempts"]) == 2, 5, "both attempts are logged"
        )
        assert account.api.get("/account")["quota"]["monthly"]["webhooks"]["used"] == used == 1
        refused(account.api.call("POST", replay.replace(delivered["id"], "dlv_unknown")), 404, "NOT_FOUND")

    def test_a_test_event_is_delivered_logged_and_not_counted(
        self, account: Account, receiver: Receiver, path: str
    ) -> None:
        webhook = subscribe(account, receiver.url(path), "post.failed")
        delivery = account.api.post(f"/webhooks/{webhook['id']}/test", status=202)
        assert (delivery["event"], delivery["status"]) == ("webhook.test", "pending")
        event = receiver.await_arrivals(path, 1)[0].verified(webhook["secret"])
        assert (event.id, event.event) == (delivery["event_id"], "webhook.test")
        assert await_delivery(account, webhook["id"], status="delivered")["id"] == delivery["id"]
        assert account.api.get("/account")["quota"]["monthly"]["webhooks"]["used"] == 0


def test_two_secrets_sign_after_a_rotation(talk: Conversation, receiver: Receiver, path: str) -> None:
    webhook = subscribe(talk.account, receiver.url(path))
    rotated = talk.account.api.post(f"/webhooks/{webhook['id']}/rotate-secret", status=200)
    assert set(rotated) == {"id", "secret", "previous_secret_expires_at"}
    assert rotated["secret"] != webhook["secret"]
    talk.reply()
    [arrival] = receiver.await_arrivals(path, 1)
    assert arrival.verified(rotated["secret"]) == arrival.verified(webhook["secret"])
    assert arrival.signature.count("sha256=") == 2
