"""Kills processes while a page is being linked and while its tokens are renewed.

The lease of a renewal lapses after 40 s of real time in the local stack. So the last test waits for the renewals that
the first one interrupted.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from e2e_kit.api import Json, refused
from e2e_kit.linking import Linking, Page, begin, linked
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

pytestmark = pytest.mark.alone

READY_SECONDS = 30.0
#: The lease of 40 s, a restart, and an allowance for a busy machine.
RENEWED_SECONDS = 120.0
#: Tokens of X, TikTok and Google are due by then.
DUE_MINUTES = 110
#: An interrupted login lapses after two minutes.
OVER_MINUTES = 3
PAGES_EACH = 4
#: Each look checks 12 pages, and an account may send 300 requests a minute.
CHECKS_PAUSE_SECONDS = 3.0
#: The platform answers so late: by then publishing is killed, also on a busy machine.
LATE_SECONDS = 12.0


@pytest.fixture(scope="module")
def clock(operator: Operator) -> Iterator[Clock]:
    """The clock shift, moved once for all tests of this file."""
    clock = Clock(operator)
    yield clock
    clock.reset()


@pytest.fixture
def account(accounts: Accounts) -> Account:
    return accounts.new(pages=())


@pytest.fixture(scope="module")
def keeper(accounts: Accounts) -> Account:
    """The account whose pages are renewed."""
    return accounts.new(pages=())


@pytest.fixture(scope="module")
def interrupted(
    keeper: Account, simulator: Simulator, stack: Stack, clock: Clock
) -> dict[str, list[tuple[Json, str]]]:
    """Publishing was killed while it renewed the tokens of several pages. Returns the pages with their platform
    accounts, by how far the renewal had come.

    `unheard`: the platform had done nothing. `heard`: the platform had refreshed the token, but its response was lost.
    """
    found: dict[str, list[tuple[Json, str]]] = {"unheard": [], "heard": []}
    for platform in ("TW", "TT", "YT"):
        for number in range(PAGES_EACH):
            page, linking = linked(keeper, simulator, platform)
            owner = linking.person["accounts"][0]["account_id"]
            is_heard = number == PAGES_EACH - 1
            target = page | {"account_id": owner}
            if is_heard:
                simulator.fault("slow", target, operation="token", seconds=LATE_SECONDS)
            else:
                simulator.fault("hang", target, operation="token")
            found["heard" if is_heard else "unheard"].append((page, owner))
    clock.shift(minutes=DUE_MINUTES)
    owners = [owner for rows in found.values() for _, owner in rows]
    simulator.await_fault(*owners)
    starts = stack.kill("publishing")
    heard = {owner for _, owner in found["heard"]}
    until(lambda: heard <= {*simulator.logins()["refreshed"]}, READY_SECONDS, "the slow ones are answered")
    stack.await_restart("publishing", starts)
    stack.await_ready(READY_SECONDS)
    assert not {owner for _, owner in found["unheard"]} & {*simulator.logins()["refreshed"]}
    return found


def test_publishing_is_killed_while_tokens_are_renewed(
    interrupted: dict[str, list[tuple[Json, str]]], keeper: Account
) -> None:
    """No page has lost its access yet, because the old tokens are valid for some more minutes."""
    for page, _ in interrupted["unheard"]:
        assert keeper.api.get(f"/pages/{page['id']}")["page"]["expired"] is False


def returning(linking: Linking, back: str) -> Page | None:
    """Returns the page in the browser, or None if its connection broke."""
    try:
        return Page(linking.browser.get(back, timeout=90))
    except requests.ConnectionError:
        return None


def test_a_publishing_that_dies_with_the_code_leaves_nothing_half_done(
    account: Account, simulator: Simulator, stack: Stack, clock: Clock
) -> None:
    linking = begin(account, simulator, "TW")
    owner = linking.person["accounts"][0]
    simulator.fault("hang", owner, operation="token")
    back = linking.way_back()
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(returning, linking, back)
        simulator.await_fault(owner["account_id"])
        starts = stack.kill("publishing")
        stack.await_restart("publishing", starts)
        stack.await_ready(READY_SECONDS)
        answer = shown.result()
    assert answer is not None
    assert answer.outcome in ("pending", "failed")
    assert "Reload this page in a moment" in answer.text
    assert linking.load(back).outcome == "pending"
    assert linking.session()["status"] == "pending"
    clock.shift(minutes=OVER_MINUTES)
    over = linking.load(back)
    assert (over.status, over.outcome) == (400, "failed")
    assert "Start again in your app" in over.text
    refused(account.api.call("GET", linking.path), 404, "NOT_FOUND")
    assert account.api.get("/pages")["pages"] == []
    again = begin(account, simulator, "TW", person=linking.person)
    assert again.open().outcome == "choose"
    assert again.choose(owner["account_id"])[0]["expired"] is False


def test_a_gateway_that_dies_meanwhile_is_come_back_to(
    account: Account, simulator: Simulator, stack: Stack, clock: Clock
) -> None:
    linking = begin(account, simulator, "YT")
    owner = linking.person["accounts"][0]
    simulator.fault("slow", owner | {"platform": "YT"}, operation="token")
    back = linking.way_back()
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(returning, linking, back)
        simulator.await_fault(owner["account_id"])
        starts = stack.kill("gateway")
        assert shown.result() is None
    stack.await_restart("gateway", starts)
    stack.await_ready(READY_SECONDS)
    confirm = until(
        lambda: (page := linking.load(back)).outcome == "confirm" and page,
        READY_SECONDS,
        "publishing went on by itself",
    )
    assert linking.session()["status"] == "pending"
    assert linking.press(confirm, "give").outcome == "choose"
    assert linking.choose(owner["account_id"])[0]["expired"] is False


def test_what_was_found_outlives_the_process_that_found_it(
    account: Account, simulator: Simulator, stack: Stack, clock: Clock
) -> None:
    linking = begin(account, simulator, "FB", accounts=2)
    assert linking.open().outcome == "choose"
    starts = stack.kill("publishing")
    stack.await_restart("publishing", starts)
    stack.await_ready(READY_SECONDS)
    found = [one["account_id"] for one in linking.session()["accounts"]]
    assert [page["account_id"] for page in linking.choose(*found)] == found


def test_in_the_end_every_page_is_renewed_but_those_of_the_one_window(
    interrupted: dict[str, list[tuple[Json, str]]], keeper: Account, simulator: Simulator
) -> None:
    """Only one case loses a page: a refresh token works once, and the response with the new token did not arrive."""
    rows = interrupted["unheard"] + interrupted["heard"]

    def settled() -> list[Json] | None:
        checks = [keeper.api.call("POST", f"/pages/{page['id']}/check").json() for page, _ in rows]
        renewed = simulator.logins()["refreshed"]
        is_settled = all(check.get("healthy") or check.get("expired") for check in checks)
        return checks if is_settled and all(owner in renewed for _, owner in rows) else None

    found = until(settled, RENEWED_SECONDS, "every page is renewed, or over", CHECKS_PAUSE_SECONDS)
    for health, (page, owner) in zip(found, rows, strict=True):
        is_lost = (page, owner) in interrupted["heard"] and page["platform"] != "YT"
        assert (health["healthy"], health["expired"]) == (not is_lost, is_lost), page
