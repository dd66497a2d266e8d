"""Tests the developers' screen: tokens are created, used and revoked; webhooks are created, tested, viewed, replayed,
given a new secret and deleted.
"""

from typing import Any

import requests
from e2e_kit.accessibility import flaws
from e2e_kit.api import Api
from e2e_kit.operator import Accounts
from e2e_kit.receiver import Answer, Receiver
from e2e_kit.waiting import HEARD_SECONDS, until


def test_a_token_is_shown_once_works_and_is_revoked(person: Any) -> None:
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For the till")
    window.click("input[name=scope][value='read:posts']")
    window.press("form[action$='/tokens'] button")
    token = window.run("return document.querySelector('#secret').value")
    me = requests.get(
        f"{person.account.api.base_url}/me", headers={"Authorization": f"Bearer {token}"}, timeout=30
    )
    assert me.json()["api_key"]["scopes"] == ["read:posts"]
    assert window.text(f"button[data-copy='{token}']") == "Copy the token"
    window.press("main a.button")
    assert token not in window.run("return document.documentElement.outerHTML")
    assert "For the till" in window.text("[aria-labelledby=tokens]")
    window.click("summary[aria-label='Manage For the till']")
    window.press("button[aria-label='Revoke For the till']")
    assert "Nothing can use it any more" in window.text("[role=status]")
    assert flaws(window) == []
    again = requests.get(me.url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    assert again.status_code == 401


def test_the_sandbox_token_is_shown_again_until_it_is_revoked(person: Any, accounts: Accounts) -> None:
    window, account = person.window, person.account
    shown = "return document.querySelector('#secret').value"
    person.open("/developers")
    assert "it only reads, works for 100 requests in all, and publishes nothing" in window.text(
        "[aria-labelledby=tokens]"
    )
    assert account.sandbox_token not in window.run("return document.documentElement.outerHTML")
    assert flaws(window) == []
    for _ in range(2):
        window.press("button[aria-label='Show the token: Sandbox']")
        assert window.text("h1") == "Your sandbox token"
        assert window.run(shown) == account.sandbox_token
        assert window.text(f"button[data-copy='{account.sandbox_token}']") == "Copy the token"
        assert flaws(window) == []
        window.press("main a.button")
    assert accounts.client(account.sandbox_token).get("/me")["api_key"]["name"] == "Sandbox"

    session = accounts.client(person.session_token)
    [sandbox] = [it for it in session.get("/tokens")["tokens"] if it["sandbox"]]
    session.delete(f"/tokens/{sandbox['id']}")  # in another browser: this one still has the button
    window.press("button[aria-label='Show the token: Sandbox']")
    assert "cannot be shown: it was revoked" in window.text("[role=alert]")
    assert "Create a token instead." in window.text("[role=alert]")
    assert not window.has("button[aria-label='Show the token: Sandbox']")
    assert flaws(window) == []


def test_a_token_without_an_end_works_only_from_its_addresses(person: Any) -> None:
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For the office")
    window.click("input[name=scope][value='read:posts']")
    window.run("document.querySelector('#days').value = ''")
    window.type("#addresses", "nowhere")
    window.press("form[action$='/tokens'] button")
    assert window.has("[role=alert]")
    assert window.run("return document.querySelector('#addresses').value") == "nowhere"
    window.run("document.querySelector('#addresses').value = '203.0.113.0/24\\n2001:db8::1'")
    window.press("form[action$='/tokens'] button")
    token = window.run("return document.querySelector('#secret').value")
    answer = requests.get(
        f"{person.account.api.base_url}/me", headers={"Authorization": f"Bearer {token}"}, timeout=30
    )
    assert answer.status_code in (401, 403)
    session = Api(person.account.api.base_url, window.cookies()["posthaste_session"])
    [made] = [it for it in session.get("/tokens")["tokens"] if it["name"] == "For the office"]
    assert made["expires_at"] is None
    assert made["ip_allowlist"] == ["203.0.113.0/24", "2001:db8::1"]


def make(person: Any, name: str, *scopes: str, brand_id: str = "") -> str:
    """Makes a token on the screen and returns it."""
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", name)
    for scope in scopes:
        window.click(f"input[name=scope][value='{scope}']")
    if brand_id:
        window.click(f"input[name=brand_id][value='{brand_id}']")
    window.press("form[action$='/tokens'] button")
    token: str = window.run("return document.querySelector('#secret').value")
    window.press("main a.button")
    return token


def test_a_token_is_replaced_with_one_of_the_same_rights(person: Any, accounts: Accounts) -> None:
    window = person.window
    first = accounts.client(make(person, "For the till", "read:posts", "read:pages"))
    before = first.get("/me")["api_key"]
    window.click("summary[aria-label='Manage For the till']")
    window.press("button[aria-label='Replace with a new one: For the till']")
    assert "This is the only time the token “For the till” is shown." in window.text("main")
    second = accounts.client(window.run("return document.querySelector('#secret').value"))
    after = second.get("/me")["api_key"]
    assert (after["name"], after["scopes"], after["expires_at"]) == (
        before["name"],
        before["scopes"],
        before["expires_at"],
    )
    until(lambda: first.call("GET", "/me").status_code == 401, HEARD_SECONDS, "the old token works no more")
    window.press("main a.button")
    told = rows(person, "For the till")
    assert [("Revoked" in it, "read:pages, read:posts" in it) for it in told] == [(False, True), (True, True)]
    assert ["Expires " in it for it in told] == [True, False]  # the old one has ended already


def rows(person: Any, name: str) -> list[str]:
    """Returns what the list tells of each token with this name."""
    script = "return [...document.querySelectorAll('[aria-labelledby=tokens] .row')].map(it => it.innerText)"
    return [it for it in person.window.run(script) if name in it]


def test_a_token_for_one_brand_reaches_no_other(stranger: Any, accounts: Accounts) -> None:
    person, account = stranger, stranger.account
    market = accounts.brand(account.user_id, "Night Market")["id"]
    person.open("/")
    person.sign_in()
    token = accounts.client(make(person, "For the market", "read:brands", "read:pages", brand_id=market))
    [told] = rows(person, "For the market")
    assert "For Night Market" in told
    assert [it["id"] for it in token.get("/brands")["brands"]] == [market]
    assert token.get("/pages")["pages"] == []
    assert token.call("GET", f"/brands/{account.brand_id}").status_code == 403
    everywhere = accounts.client(make(person, "For all", "read:brands"))
    assert {it["id"] for it in everywhere.get("/brands")["brands"]} == {account.brand_id, market}
    [told] = rows(person, "For all")
    assert "All brands" in told


def test_a_token_without_scopes_is_refused_and_its_name_stays(person: Any) -> None:
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For nothing")
    window.press("form[action$='/tokens'] button")
    assert window.has("[role=alert]")
    assert window.run("return document.querySelector('#token-name').value") == "For nothing"
    assert flaws(window) == []


def test_a_webhook_is_tested_looked_at_replayed_rotated_and_deleted(person: Any, receiver: Receiver) -> None:
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=webhooks] .make summary")
    window.type("#hook-name", "The till")
    window.type("#hook-url", receiver.url("/till"))
    window.click("input[name=event][value='post.published']")
    window.press("form[action$='/webhooks'] button")
    secret = window.run("return document.querySelector('#secret').value")
    assert secret.startswith("whsec_")
    window.press("main a.button")
    window.press("[aria-labelledby=webhooks] .row a")
    page = window.url
    window.press("form[action$=test] button")
    assert "on its way" in window.text("[role=status]")

    def delivered(count: int) -> bool:
        window.open(page)
        return window.text("[aria-labelledby=deliveries]").count("Answered 2") == count

    until(lambda: delivered(1), 30, "the test event is delivered")
    window.press("[aria-labelledby=deliveries] .row a")
    assert "webhook.test" in window.text("h1")
    assert person.account.user_id in window.text("[aria-labelledby=body]")
    window.press("main form button.primary")
    assert "sent again" in window.text("[role=status]")
    assert flaws(window) == []
    window.click("details:has(> form[action$=rotate]) summary")
    window.press("form[action$=rotate] button")
    assert window.run("return document.querySelector('#secret').value") != secret
    window.open(page)
    window.click(".danger summary")
    window.press("form[action$=delete] button")
    assert "The webhook is deleted" in window.text("[role=status]")
    assert person.account.api.get("/webhooks")["webhooks"] == []


def test_a_disabled_webhook_says_why_and_that_a_delivery_is_still_sent_once(
    person: Any, receiver: Receiver
) -> None:
    window, api = person.window, person.account.api
    receiver.answers("/closed", Answer(410))
    hook = {"name": "The old till", "url": receiver.url("/closed"), "events": ["post.published"]}
    hook_id = api.post("/webhooks", hook)["id"]
    delivery_id = api.post(f"/webhooks/{hook_id}/test", status=202)["id"]
    until(lambda: api.get(f"/webhooks/{hook_id}")["status"] == "disabled", 30, "it is disabled")
    page = f"/developers/webhooks/{hook_id}"
    person.open(page)
    assert "Disabled: your server answered 410 Gone. No events are sent" in window.text(".note.bad")
    assert "Disabled since" in window.text(".facts")
    assert "What to do: Fix your server, then enable the webhook." in window.text(".note.bad")
    assert "is still sent once" in window.text(".note.bad")
    person.open(f"{page}/deliveries/{delivery_id}")
    assert "The old till" in window.text(".crumb")
    assert "Answered 410 Gone after" in window.text("[aria-labelledby=attempts]")
    assert flaws(window) == []
    assert "private network" in window.text("[aria-labelledby=attempts]")  # the receiver is on this machine
    assert "“Send again” still sends this delivery, once." in window.text("main")
    window.press("main form.actions button")
    receiver.await_arrivals("/closed", 2)
    person.open(page)
    window.press("form[action$=enable] button")
    assert "active again" in window.text("[role=status]")
