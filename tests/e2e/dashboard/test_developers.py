"""Tests the developers' screen: tokens are created, used and revoked; webhooks are created, tested, viewed, replayed,
given a new secret and deleted.
"""

from typing import Any

import requests
from e2e_kit.api import Api
from e2e_kit.receiver import Receiver
from e2e_kit.waiting import until


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
    window.press("main a.primary")
    assert token not in window.run("return document.documentElement.outerHTML")
    assert "For the till" in window.text("[aria-labelledby=tokens]")
    window.click("summary[aria-label='Manage For the till']")
    window.press("button[aria-label='Revoke For the till']")
    assert "Nothing can use it any more" in window.text("[role=status]")
    again = requests.get(me.url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    assert again.status_code == 401


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


def test_a_token_without_scopes_is_refused_and_its_name_stays(person: Any) -> None:
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For nothing")
    window.press("form[action$='/tokens'] button")
    assert window.has("[role=alert]")
    assert window.run("return document.querySelector('#token-name').value") == "For nothing"


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
    window.press("main a.primary")
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
    window.click("details:has(> form[action$=rotate]) summary")
    window.press("form[action$=rotate] button")
    assert window.run("return document.querySelector('#secret').value") != secret
    window.open(page)
    window.click(".danger summary")
    window.press("form[action$=delete] button")
    assert "The webhook is deleted" in window.text("[role=status]")
    assert person.account.api.get("/webhooks")["webhooks"] == []
