"""Tests linking a page as its owner does: login at the platform, choice of pages, use, loss of access and unlinking."""

import datetime as dt
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests
from e2e_kit.api import refused
from e2e_kit.linking import NAMES, Page, begin, linked
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.posting import schedule, tomorrow
from e2e_kit.receiver import Receiver, await_delivery, deliveries, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: Accounts that a person with one page, or themselves alone, is found with.
COUNTS = {"FB": 1, "IG": 1, "LN": 2, "TT": 1, "TW": 1, "YT": 1}
RENEWED = ("TT", "TW", "YT")


@pytest.fixture
def account(accounts: Accounts) -> Account:
    return accounts.new(pages=())


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.mark.parametrize("platform", NAMES)
def test_a_page_is_linked_used_and_given_back(
    account: Account, simulator: Simulator, photo: str, video: str, platform: str
) -> None:
    linking = begin(account, simulator, platform)
    assert linking.session()["status"] == "pending"
    shown = linking.open()
    assert (shown.status, shown.outcome) == (200, "choose")
    session = linking.session()
    assert (session["status"], len(session["accounts"])) == ("choose", COUNTS[platform])
    chosen = session["accounts"][-1]
    [page] = linking.choose(chosen["account_id"])
    assert (page["platform"], page["name"], page["expired"]) == (platform, chosen["name"], False)
    assert page in account.api.get("/pages")["pages"]

    health = account.api.post(f"/pages/{page['id']}/check", status=200)
    assert (health["healthy"], health["expired"], health["missing_permissions"]) == (True, False, [])

    media = {"media_urls": [video if platform == "YT" else photo]}
    result = account.api.post("/posts/publish", {"page_id": page["id"], "message": "linked", **media})
    assert result["was_published"] is True
    [post] = simulator.posts(page)
    assert platform == "TT" or post["id"] == result["platform_post_id"]  # TikTok gives a post's id later

    account.api.delete(f"/pages/{page['id']}")
    assert account.api.get("/pages")["pages"] == []
    refused(account.api.call("GET", f"/pages/{page['id']}"), 404, "NOT_FOUND")
    assert account.api.get("/posts/published")["published_posts"][0]["id"] == result["post_id"]
    if platform not in ("FB", "IG"):  # Meta has no field for it
        owner = linking.person["accounts"][0]["account_id"]
        until(lambda: owner in simulator.logins()["revoked"], 20, "the permission is given back")


@pytest.mark.parametrize("platform", NAMES)
def test_a_refusal_is_told_in_the_browser_and_to_the_app(
    account: Account, simulator: Simulator, platform: str
) -> None:
    linking = begin(account, simulator, platform)
    shown = linking.open(sim_deny="1")
    assert (shown.status, shown.outcome) == (200, "refused")
    session = linking.session()
    assert (session["status"], session["accounts"]) == ("refused", [])
    assert session["error"]["code"] in ("access_denied", "user_cancelled_authorize")
    answer = account.api.call(
        "POST", f"/pages/connect/{linking.begun['session_id']}", json={"account_ids": ["x"]}
    )
    refused(answer, 409, "POST_IN_PROGRESS")


def test_the_page_in_the_browser_loads_and_runs_nothing(
    account: Account, simulator: Simulator, stack: Stack
) -> None:
    linking = begin(account, simulator, "TW")
    target = dict(parse_qsl(urlsplit(linking.login_url()).query))
    assert target["redirect_uri"] == stack.base_url.removesuffix("/api/v1") + "/connect/twitter/callback"
    words = {
        "state": target["state"],
        "error": "odd",
        "error_description": "<script src=//evil.test>&</script>",
    }
    shown = Page(linking.browser.get(target["redirect_uri"], params=words, timeout=30))
    assert (shown.status, shown.outcome) == (400, "failed")
    assert "<script src=//evil.test>&</script> (odd)" in shown.text
    assert {tag for tag, _ in shown.tags} == {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "p",
    }  # fmt: skip
    assert not any("src" in attributes or "href" in attributes for _, attributes in shown.tags)
    policy = shown.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert (shown.headers["Referrer-Policy"], shown.headers["Cache-Control"]) == ("no-referrer", "no-store")


def test_a_state_is_good_once_at_its_own_platform_and_only_if_it_is_ours(
    account: Account, simulator: Simulator
) -> None:
    linking = begin(account, simulator, "TW")
    asked = dict(parse_qsl(urlsplit(linking.login_url()).query))
    back = linking.way_back()
    for wrong in (
        back.replace("/connect/twitter/", "/connect/facebook/"),
        back.replace(asked["state"][-6:], "aaaaaa"),
        back.replace("state=", "other="),
    ):
        shown = linking.load(wrong)
        assert (shown.status, shown.outcome) == (400, "failed")
    assert linking.load(back).outcome == "confirm"
    shown = linking.load(back)  # repeated from the stored response
    assert linking.press(shown, "give").outcome == linking.press(shown, "give").outcome == "choose"
    assert linking.load(back).outcome == "choose"
    other = begin(account, simulator, "TW").login_url()
    assert dict(parse_qsl(urlsplit(other).query))["state"] != asked["state"]
    assert asked["code_challenge_method"] == "S256"


def test_a_victim_of_a_phished_address_gives_nothing_away_without_pressing(
    accounts: Accounts, simulator: Simulator
) -> None:
    attacker = accounts.new(pages=())
    victim = begin(attacker, simulator, "FB", accounts=2)
    first = victim.load(victim.begun["authorize_url"])
    brand = attacker.api.get("/brands")["brands"][0]["name"]
    email = attacker.email
    assert brand in first.text
    assert email in first.text
    asks = victim.come_back()
    assert asks.outcome == "confirm"
    assert brand in asks.text
    assert email in asks.text
    assert (victim.session()["status"], victim.session()["accounts"]) == ("pending", [])
    refused(attacker.api.call("POST", victim.path, json={"account_ids": ["x"]}), 409, "POST_IN_PROGRESS")
    assert victim.press(asks, "cancel").outcome == "refused"
    assert victim.session()["status"] == "refused"
    assert attacker.api.get("/pages")["pages"] == []


def test_the_platforms_address_works_in_no_other_browser_and_the_account_is_told(
    account: Account, simulator: Simulator, receiver: Receiver
) -> None:
    hook = subscribe(account, receiver.url("/refused"), "page.connect.refused")
    linking = begin(account, simulator, "TW")
    back = linking.way_back()
    with requests.Session() as victim:
        shown = Page(victim.get(back, timeout=30))
        assert (shown.status, shown.outcome) == (403, "failed")
        assert "started in another browser" in shown.text
    assert linking.session()["status"] == "pending"
    assert account.api.get("/pages")["pages"] == []
    await_delivery(account, hook["id"], status="delivered", event="page.connect.refused")


def test_several_pages_of_one_person_are_chosen_and_the_rest_is_not(
    account: Account, simulator: Simulator
) -> None:
    linking = begin(account, simulator, "FB", accounts=4)
    linking.open()
    ids = [one["account_id"] for one in linking.session()["accounts"]]
    assert len(ids) == 4
    pages = linking.choose(*ids[:2])
    assert [page["account_id"] for page in pages] == ids[:2]
    assert linking.choose(*ids[:2]) == pages
    assert len(account.api.get("/pages")["pages"]) == 2
    answer = account.api.call(
        "POST", f"/pages/connect/{linking.begun['session_id']}", json={"account_ids": [ids[2], "stranger"]}
    )
    refused(answer, 404, "NOT_FOUND", field="account_ids")
    assert len(account.api.get("/pages")["pages"]) == 2


def test_linking_again_repairs_an_expired_page_without_changing_its_id(
    account: Account, simulator: Simulator, operator: Operator
) -> None:
    page, linking = linked(account, simulator, "TW")
    operator("page", "expire", page["id"])
    body = {"page_id": page["id"], "message": "x"}
    refused(account.api.call("POST", "/posts/publish", json=body), 400, "PAGE_EXPIRED", page_id=page["id"])
    again = begin(account, simulator, "TW", person=linking.person)
    assert again.open().outcome == "linked"
    assert again.session()["accounts"][0]["page_id"] == page["id"]
    assert account.api.get(f"/pages/{page['id']}")["page"] == page
    assert account.api.post("/posts/publish", body)["was_published"] is True


def test_what_the_person_withheld_is_missing(account: Account, simulator: Simulator) -> None:
    page, _ = linked(account, simulator, "TW", withholds=["media.write"])
    health = account.api.post(f"/pages/{page['id']}/check", status=200)
    assert (health["healthy"], health["missing_permissions"]) == (False, ["media.write"])
    assert dt.datetime.fromisoformat(health["token_expires_at"]) > dt.datetime.now(dt.UTC)


def test_a_connection_that_ends_is_told_of_once(
    account: Account, simulator: Simulator, receiver: Receiver
) -> None:
    hook = subscribe(account, receiver.url("/expired"), "page.expired")
    page, _ = linked(account, simulator, "FB")
    simulator.fault("expired", page)
    body = {"page_id": page["id"], "message": "x"}
    for _ in range(2):
        refused(account.api.call("POST", "/posts/publish", json=body), 400, "PAGE_EXPIRED")
    await_delivery(account, hook["id"], status="delivered", event="page.expired")
    assert len(deliveries(account, hook["id"])) == 1


def test_who_removes_the_app_ends_the_connection(account: Account, simulator: Simulator) -> None:
    page, linking = linked(account, simulator, "YT")
    simulator.leave(linking.person)
    health = account.api.post(f"/pages/{page['id']}/check", status=200)
    assert (health["healthy"], health["expired"]) == (False, True)
    assert health["reconnect_url"]
    assert account.api.get(f"/pages/{page['id']}")["page"]["expired"] is True


def test_queued_posts_keep_a_page_unless_they_may_go(accounts: Accounts) -> None:
    account = accounts.new(pages=("FB",))
    page_id = account.page_id()
    post = schedule(account, message="queued")
    refused(account.api.call("DELETE", f"/pages/{page_id}"), 409, "PAGE_IN_USE")
    refused(account.api.call("DELETE", f"/pages/{page_id}?cancel_queued=perhaps"), 400, "VALIDATION_ERROR")
    done = account.api.delete(f"/pages/{page_id}?cancel_queued=true")
    assert done == {"success": True, "id": page_id, "cancelled_posts": [post["id"]]}
    shown = account.api.get(f"/posts/scheduled/{post['id']}")["scheduled_post"]
    assert shown["status"] == "cancelled"
    body = {"page_id": page_id, "message": "x", "scheduled_at": tomorrow()}
    refused(account.api.call("POST", "/posts/schedule", json=body), 404, "NOT_FOUND", field="page_id")


def test_linking_needs_its_scope_and_a_brand_within_reach(
    account: Account, accounts: Accounts, simulator: Simulator
) -> None:
    body = {"platform": "TW", "brand_id": account.brand_id}
    reader = accounts.client(accounts.token(account.user_id, "read:pages,write:posts")["api_token"])
    refused(
        reader.call("POST", "/pages/connect", json=body), 403, "MISSING_SCOPE", required_scope="write:pages"
    )
    writer = accounts.client(accounts.token(account.user_id, "write:pages")["api_token"])
    assert writer.post("/pages/connect", body)["authorize_url"]
    other = accounts.brand(account.user_id, "Another")["id"]
    limited = accounts.client(accounts.token(account.user_id, "*", "--brand", other)["api_token"])
    refused(limited.call("POST", "/pages/connect", json=body), 403, "BRAND_NOT_AUTHORIZED")
    linking = begin(account, simulator, "TW")
    path = f"/pages/connect/{linking.begun['session_id']}"
    refused(limited.call("GET", path), 403, "BRAND_NOT_AUTHORIZED")
    refused(accounts.new(pages=()).api.call("GET", path), 404, "NOT_FOUND")
    refused(
        account.api.call("POST", "/pages/connect", json={"platform": "myspace", "brand_id": account.brand_id}),
        400, "VALIDATION_ERROR",
    )  # fmt: skip
    refused(
        account.api.call("POST", "/pages/connect", json={"platform": "FB", "brand_id": "brd_none"}),
        404, "NOT_FOUND", field="brand_id",
    )  # fmt: skip


@pytest.mark.alone
def test_tokens_are_renewed_ahead_of_their_end(account: Account, simulator: Simulator, clock: Clock) -> None:
    pages = {platform: linked(account, simulator, platform)[0] for platform in RENEWED}
    clock.shift(minutes=110)  # X and TikTok: ten minutes and a little to go; Google's are over

    def renewed() -> bool:
        counts = simulator.logins()["refreshed"]
        return all(counts.get(page["account_id"], 0) >= 1 for page in pages.values())

    until(renewed, 30, "every page's tokens are renewed")
    clock.shift(minutes=30)
    for page in pages.values():
        health = account.api.post(f"/pages/{page['id']}/check", status=200)
        assert (health["healthy"], health["expired"]) == (True, False)


@pytest.mark.alone
def test_a_login_has_ten_minutes(account: Account, simulator: Simulator, clock: Clock) -> None:
    linking = begin(account, simulator, "LN")
    back = linking.way_back()
    clock.shift(minutes=10, seconds=1)
    for url in (linking.begun["authorize_url"], back):
        shown = linking.load(url)
        assert (shown.status, shown.outcome) == (400, "failed")
    refused(account.api.call("GET", f"/pages/connect/{linking.begun['session_id']}"), 404, "NOT_FOUND")
