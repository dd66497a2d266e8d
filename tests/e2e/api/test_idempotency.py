"""A request with the same key has one effect, however often and whenever it is sent."""

import os
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from e2e_kit.api import Api, Json, refused
from e2e_kit.operator import Account, Accounts
from e2e_kit.posting import schedule, shown, tomorrow
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: 2,000 requests, with FULL_SIZE=1 10,000.
KEYS = 200 if os.environ.get("FULL_SIZE") else 40
AT_ONCE = 50
#: An Elite account has 300 requests a minute, and each key takes 50.
KEYS_PER_ACCOUNT = 5


def new_key() -> str:
    return str(uuid.uuid4())


def test_a_repeated_key_gets_the_stored_answer_and_nothing_happens_again(
    account: Account, simulator: Simulator
) -> None:
    key, body = new_key(), {"page_id": account.page_id(), "message": "once"}
    first = account.api.call("POST", "/posts/publish", json=body, key=key)
    again = account.api.call("POST", "/posts/publish", json=body, key=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.content == first.content
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert len(simulator.posts(account.pages["FB"])) == 1


def test_a_replay_takes_no_month_unit(account: Account) -> None:
    def used() -> int:
        count: int = account.api.get("/account")["quota"]["monthly"]["publishes"]["used"]
        return count

    key, before = new_key(), used()
    body = {"page_id": account.page_id(), "message": "x", "scheduled_at": tomorrow()}
    for _ in range(3):
        account.api.post("/posts/schedule", body, key=key)
    assert used() == before + 1


@pytest.mark.parametrize("change", ["body", "path", "white space"])
def test_a_key_with_another_request_is_a_mismatch(account: Account, change: str) -> None:
    key, at = new_key(), tomorrow()
    text = f'{{"page_id": "{account.page_id()}", "message": "x", "scheduled_at": "{at}"}}'
    other, path = text, "/posts/schedule"
    if change == "body":
        other = text.replace('"x"', '"y"')
    elif change == "path":
        path = "/posts/validate"
    else:
        other = text.replace(": ", ":")
    headers = {"Content-Type": "application/json"}
    assert account.api.call("POST", "/posts/schedule", data=text, key=key, headers=headers).status_code == 201
    answer = account.api.call("POST", path, data=other, key=key, headers=headers)
    refused(answer, 409, "IDEMPOTENCY_KEY_MISMATCH")


@pytest.mark.parametrize(
    "key", ["", "k" * 121, "k" * 5000], ids=["empty", "121 characters", "5000 characters"]
)
def test_an_empty_or_too_long_key_is_refused(account: Account, key: str) -> None:
    body = {"page_id": account.page_id(), "message": "x", "scheduled_at": tomorrow()}
    refused(account.api.call("POST", "/posts/schedule", json=body, key=key), 400, "INVALID_IDEMPOTENCY_KEY")
    post_id = schedule(account, message="x")["id"]
    refused(
        account.api.call("DELETE", f"/posts/scheduled/{post_id}", key=key), 400, "INVALID_IDEMPOTENCY_KEY"
    )
    assert shown(account.api, post_id)["status"] == "queued"


def test_a_key_of_120_characters_is_taken(account: Account) -> None:
    body = {"page_id": account.page_id(), "message": "x", "scheduled_at": tomorrow()}
    first = account.api.post("/posts/schedule", body, key="k" * 120)
    assert account.api.post("/posts/schedule", body, key="k" * 120) == first


def test_a_key_whose_request_failed_is_free_for_a_mended_one(account: Account, simulator: Simulator) -> None:
    key, body = new_key(), {"page_id": account.page_id(), "message": "x"}
    refused(account.api.call("POST", "/posts/publish", json={"message": "x"}, key=key), 400, "MISSING_FIELD")
    simulator.fault("reject", account.pages["FB"])
    refused(account.api.call("POST", "/posts/publish", json=body, key=key), 502, "PLATFORM_REJECTED")
    result = account.api.post("/posts/publish", body | {"message": "mended"}, key=key)
    assert result["message"] == "mended"
    assert [post["text"] for post in simulator.posts(account.pages["FB"])] == ["mended"]


def test_keys_belong_to_their_token(account: Account, accounts: Accounts) -> None:
    other = accounts.client(accounts.token(account.user_id)["api_token"])
    key, at = new_key(), tomorrow()
    body = {"page_id": account.page_id(), "message": "x", "scheduled_at": at}
    first = account.api.post("/posts/schedule", body, key=key)["scheduled_post"]["id"]
    second = other.post("/posts/schedule", body | {"scheduled_at": tomorrow(hours=1)}, key=key)[
        "scheduled_post"
    ]["id"]
    assert first != second


def test_a_change_and_a_cancellation_are_repeatable_with_their_keys(account: Account) -> None:
    path = f"/posts/scheduled/{schedule(account, message='x')['id']}"
    change, cancel = new_key(), new_key()
    assert account.api.patch(path, {"message": "y"}, key=change) == account.api.patch(
        path, {"message": "y"}, key=change
    )
    assert account.api.delete(path, key=cancel) == account.api.delete(path, key=cancel)
    refused(account.api.call("DELETE", path, key=new_key()), 404, "NOT_FOUND")


def test_a_get_pays_no_attention_to_a_key(account: Account) -> None:
    key = new_key()
    for path in ("/me", "/pages"):
        assert "Idempotency-Replayed" not in account.api.call("GET", path, key=key).headers


def test_a_token_is_checked_anew_before_a_replay(account: Account, accounts: Accounts) -> None:
    made = accounts.token(account.user_id)
    client, key = accounts.client(made["api_token"]), new_key()
    body = {"page_id": account.page_id(), "message": "x", "scheduled_at": tomorrow()}
    client.post("/posts/schedule", body, key=key)
    accounts.operator("token", "revoke", made["token"]["id"])
    until(lambda: client.call("POST", "/posts/schedule", json=body, key=key).status_code == 401, 30.0)


def test_a_repetition_waits_for_the_first_and_gets_its_answer(account: Account, simulator: Simulator) -> None:
    key, body = new_key(), {"page_id": account.page_id(), "message": "slowly"}
    simulator.fault("slow", account.pages["FB"])
    with ThreadPoolExecutor(2) as both:
        answers = list(
            both.map(lambda _: account.api.call("POST", "/posts/publish", json=body, key=key), range(2))
        )
    assert [answer.status_code for answer in answers] == [201, 201]
    assert {answer.headers.get("Idempotency-Replayed") for answer in answers} == {None, "true"}
    assert len(simulator.posts(account.pages["FB"])) == 1


def at_once(
    api: Api, keys: dict[str, Callable[[str], requests.Response]]
) -> dict[str, list[requests.Response]]:
    """Sends AT_ONCE requests with the same key at the same moment, for one key after the other."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {
            key: list(pool.map(lambda _, send=send, key=key: send(key), range(AT_ONCE)))
            for key, send in keys.items()
        }


def test_a_key_sent_fifty_times_at_once_schedules_one_post(accounts: Accounts) -> None:
    for begin in range(0, KEYS, KEYS_PER_ACCOUNT):
        account = accounts.new(pool_size=AT_ONCE)
        bodies = {
            new_key(): {
                "page_id": account.page_id(),
                "message": f"key {n}",
                "scheduled_at": tomorrow(hours=n),
            }
            for n in range(begin, min(begin + KEYS_PER_ACCOUNT, KEYS))
        }

        def send(key: str, account: Account = account, bodies: dict[str, Json] = bodies) -> requests.Response:
            return account.api.call("POST", "/posts/schedule", json=bodies[key], key=key)

        for key, answers in at_once(account.api, dict.fromkeys(bodies, send)).items():
            assert Counter(answer.status_code for answer in answers) == {201: AT_ONCE}, key
            assert len({answer.content for answer in answers}) == 1
            assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
        queued = account.api.get("/posts/scheduled", limit=100)["scheduled_posts"]
        assert sorted(post["message"] for post in queued) == sorted(
            str(body["message"]) for body in bodies.values()
        )


def test_a_key_sent_fifty_times_at_once_publishes_one_post(accounts: Accounts, simulator: Simulator) -> None:
    account = accounts.new(pool_size=AT_ONCE)
    bodies = {
        new_key(): {"page_id": account.page_id(), "message": f"key {n}"} for n in range(KEYS_PER_ACCOUNT)
    }

    def send(key: str) -> requests.Response:
        return account.api.call("POST", "/posts/publish", json=bodies[key], key=key)

    for key, answers in at_once(account.api, dict.fromkeys(bodies, send)).items():
        assert Counter(answer.status_code for answer in answers) == {201: AT_ONCE}, key
        assert len({answer.json()["post_id"] for answer in answers}) == 1
    texts = [post["text"] for post in simulator.posts(account.pages["FB"])]
    assert sorted(texts) == sorted(str(body["message"]) for body in bodies.values())


def test_a_key_sent_fifty_times_at_once_replies_once(accounts: Accounts, simulator: Simulator) -> None:
    account = accounts.new(pool_size=AT_ONCE)
    post = account.api.post("/posts/publish", {"page_id": account.page_id(), "message": "ask"})
    simulator.comment("FB", post["platform_post_id"], "hello")
    [comment] = account.api.get("/comments", post_id=post["post_id"])["comments"]
    body = {"page_id": account.page_id(), "comment_id": comment["id"], "message": "hi"}
    [answers] = at_once(
        account.api, {new_key(): lambda key: account.api.call("POST", "/comments/reply", json=body, key=key)}
    ).values()
    assert Counter(answer.status_code for answer in answers) == {201: AT_ONCE}
    assert [row["text"] for row in simulator.posts(account.pages["FB"])[0]["comments"]] == ["hello", "hi"]
