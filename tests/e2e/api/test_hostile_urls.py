"""No URL from a client leads into our own network: a server that listens on the loopback must never get a connection.

The stack is started with `--strict`, in a simulated internet (e2e_kit/internet). A URL that looks hostile is refused
at once. One that turns out hostile later, through DNS or a redirect, is refused when it is fetched. A public URL
works.
"""

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from e2e_kit.api import error_code, told
from e2e_kit.attacks import urls as hostile
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import from_now
from e2e_kit.receiver import Answer, Receiver, await_delivery, deliveries, subscribe
from e2e_kit.stack import Stack
from e2e_kit.strict import Canary, strict_stack
from e2e_kit.waiting import until

#: Per input; each has an account of its own, and an Elite account 300 requests a minute.
AT_ONCE = 6
#: A connection that is refused fails at once; one attempt may take 10 s.
ATTEMPT_SECONDS = 30.0


@dataclass(frozen=True)
class Giver:
    """An account, and one of its subscriptions, whose URL the tests change."""

    account: Account
    webhook_id: str

    def ask(self, method: str, path: str, **body: Any) -> requests.Response:
        return self.account.api.call(method, path, json=body)


#: Arguments: the account, the URL and its number.
Give = Callable[[Giver, str, int], requests.Response]


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    canary = Canary()
    canary.sing()
    yield canary
    canary.close()


@pytest.fixture(scope="module")
def honest(jpeg: bytes) -> Iterator[Receiver]:
    """A server behind every public address: it answers GET with a photo and webhook deliveries with 204."""
    with Receiver(
        lambda one: Answer(200, jpeg, Content_Type="image/jpeg") if one.method == "GET" else Answer()
    ) as it:
        yield it


@pytest.fixture(scope="module")
def guide(canary: Canary) -> Iterator[Receiver]:
    """A public server that redirects every request to the server on the loopback."""
    with Receiver() as guide:
        for path, (status, location) in hostile.redirects(canary.port).items():
            guide.answers(path, Answer(status, Location=location))
        yield guide


@pytest.fixture(scope="module")
def strict(honest: Receiver, guide: Receiver) -> Iterator[Stack]:
    run = Path(os.environ["TEST_RUN_DIR"]) / "strict"
    with strict_stack(run, hostile.world(honest.port, guide.port)) as strict:
        yield strict


@pytest.fixture(scope="module")
def accounts(strict: Stack) -> Iterator[Accounts]:
    operator = Operator(strict)
    accounts = Accounts(operator, strict.base_url)
    yield accounts
    accounts.close()
    operator.close()


@pytest.fixture
def account(accounts: Accounts) -> Account:
    account = accounts.new(pages=("FB", "IG"))
    accounts.operator("credits", "grant", "--user", account.user_id, "--amount", "10000")
    return account


@pytest.fixture
def giver(account: Account) -> Giver:
    return Giver(account, subscribe(account, "https://example.com/")["id"])


def give_webhook(giver: Giver, url: str, _: int) -> requests.Response:
    answer = giver.ask("POST", "/webhooks", name="n", url=url, events=["post.failed"])
    if answer.status_code == 201:
        giver.account.api.delete(f"/webhooks/{answer.json()['id']}")
    return answer


def change_webhook(giver: Giver, url: str, _: int) -> requests.Response:
    return giver.ask("PATCH", f"/webhooks/{giver.webhook_id}", url=url)


def schedule(giver: Giver, url: str, number: int) -> requests.Response:
    """Schedules a post with a file from this URL. `number` sets its time, far enough from the others for the page's
    guardrails.
    """
    at, page = from_now(days=1, hours=3 * number), giver.account.page_id()
    return giver.ask("POST", "/posts/schedule", page_id=page, media_urls=[url], scheduled_at=at)


def publish(giver: Giver, url: str, number: int) -> requests.Response:
    page = giver.account.page_id(("FB", "IG")[number % 2])
    return giver.ask("POST", "/posts/publish", page_id=page, media_urls=[url])


def refer(giver: Giver, url: str, _: int) -> requests.Response:
    return giver.ask("POST", "/ai/images", prompt="p", reference_image_urls=[url])


def edit(giver: Giver, url: str, _: int) -> requests.Response:
    return giver.ask("POST", "/ai/images/edit", prompt="p", image_url=url)


def animate(giver: Giver, url: str, _: int) -> requests.Response:
    return giver.ask("POST", "/ai/videos", prompt="p", image_url=url)


INPUTS = pytest.mark.parametrize(
    ("give", "code"),
    [
        (give_webhook, "VALIDATION_ERROR"), (change_webhook, "VALIDATION_ERROR"), (schedule, "INVALID_MEDIA_URL"),
        (publish, "INVALID_MEDIA_URL"), (refer, "INVALID_REFERENCE_MEDIA"), (edit, "INVALID_REFERENCE_MEDIA"),
        (animate, "INVALID_REFERENCE_MEDIA"),
    ],
    ids=lambda it: it.__name__ if callable(it) else "",
)  # fmt: skip


def answers_to(give: Give, giver: Giver, urls: list[str]) -> dict[str, requests.Response]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(urls, pool.map(give, [giver] * len(urls), urls, range(len(urls))), strict=True))


@INPUTS
def test_what_looks_hostile_is_refused_where_it_is_given(
    giver: Giver, canary: Canary, give: Give, code: str
) -> None:
    urls = hostile.refused_urls(canary.port)
    assert len(urls) >= 150
    answers = answers_to(give, giver, urls)
    wrong = {
        url: told(one) for url, one in answers.items() if (one.status_code, error_code(one)) != (400, code)
    }
    assert not wrong
    assert canary.visits == []


@pytest.mark.parametrize("give", [give_webhook, schedule])
def test_what_is_public_is_taken(giver: Giver, give: Give) -> None:
    assert len(hostile.PUBLIC) >= 50
    answers = answers_to(give, giver, hostile.PUBLIC)
    assert not [told(one) for one in answers.values() if one.status_code != 201]


@pytest.mark.parametrize("give", [refer, edit])
def test_what_is_public_is_fetched(giver: Giver, honest: Receiver, give: Give) -> None:
    """Only URLs of HTTP are tried, because the simulated internet has no certificates."""
    urls = list(dict.fromkeys(re.sub("^https", "http", url, flags=re.IGNORECASE) for url in hostile.PUBLIC))
    before = len(honest.arrivals())
    answers = answers_to(give, giver, urls)
    assert not [told(one) for one in answers.values() if one.status_code != 201]
    assert len(honest.arrivals()) - before == len(urls)


@pytest.mark.parametrize("give", [publish, refer, edit, animate])
def test_what_turns_out_hostile_is_refused_when_it_is_fetched(
    giver: Giver, canary: Canary, guide: Receiver, give: Give
) -> None:
    before = len(guide.arrivals())
    names, redirects = hostile.late_urls(canary.port), list(hostile.redirects(canary.port))
    answers = answers_to(give, giver, names + [hostile.guide_url(path) for path in redirects])
    assert not {url: told(one) for url, one in answers.items() if one.ok and not hostile.may_succeed(url)}
    assert not [told(one) for one in answers.values() if one.status_code in (500, 503)]
    assert len(guide.arrivals()) - before >= len(redirects)
    assert canary.visits == []


def test_no_delivery_goes_to_what_turns_out_hostile(
    accounts: Accounts, canary: Canary, guide: Receiver
) -> None:
    names = hostile.late_urls(canary.port)
    redirects = [hostile.guide_url(path) for path in hostile.redirects(canary.port)]
    tried = deliver(accounts.new(pages=()), names)
    assert not {url: one for url, one in tried.items() if one["status_code"] and not hostile.may_succeed(url)}
    moved = deliver(accounts.new(pages=()), redirects)
    statuses = {status for status, _ in hostile.redirects(canary.port).values()}
    assert {one["status_code"] for one in moved.values()} == statuses
    assert all(one["error"] for one in moved.values())
    assert len([one for one in guide.arrivals() if one.method == "POST"]) == len(redirects)
    assert canary.visits == []


def deliver(account: Account, urls: list[str]) -> dict[str, Any]:
    """Sends a test event to each URL. Returns the first attempt at each delivery."""
    made = {url: subscribe(account, url)["id"] for url in urls}
    for webhook in made.values():
        account.api.post(f"/webhooks/{webhook}/test", status=202)
    return {
        url: until(
            lambda webhook=webhook: first_attempt(account, webhook), ATTEMPT_SECONDS, f"{url} is tried"
        )
        for url, webhook in made.items()
    }


def first_attempt(account: Account, webhook_id: str) -> Any:
    [delivery] = deliveries(account, webhook_id)
    return delivery["attempts"][0] if delivery["attempts"] else None


def test_an_honest_receiver_gets_its_delivery(account: Account, honest: Receiver) -> None:
    webhook = subscribe(account, hostile.honest_url("/hook"))
    account.api.post(f"/webhooks/{webhook['id']}/test", status=202)
    [arrival] = honest.await_arrivals("/hook", 1)
    assert arrival.verified(webhook["secret"]).event == "webhook.test"
    assert arrival.headers["host"] == "honest.example.com"
    await_delivery(account, webhook["id"], status="delivered")


def test_an_honest_photo_is_published(giver: Giver) -> None:
    """Publishes on Facebook, because we send the bytes there. Instagram would fetch the URL itself, from outside the
    simulated internet.
    """
    assert publish(giver, hostile.honest_url("/photo.jpg"), 0).status_code == 201
