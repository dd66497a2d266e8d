"""Usage and billing: limits, buying AI credits, and links from the API's answers."""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.config import Config
from posthaste import records

USE = SimpleNamespace(used=1, limit=10)
ACCOUNT = SimpleNamespace(
    user=SimpleNamespace(
        firstname="Ada", lastname="", email="ada@example.test", timezone=None, language=None
    ),
    tier="elite",
    quota=SimpleNamespace(
        monthly=dict.fromkeys(("publishes", "replies", "reads", "webhooks"), USE)
        | {"resets_at": datetime(2026, 12, 1, tzinfo=UTC)},
        storage=SimpleNamespace(used_bytes=1, limit_bytes=10),
        rate_limit=SimpleNamespace(per_minute=300, per_day=1_000),
    ),
)


class Client:
    """An API that offers packs and auto-refill."""

    def __init__(self, *, sells: bool) -> None:
        self.sells, self.saved = sells, []  # type: ignore[var-annotated]

    def get_account(self) -> Any:
        return ACCOUNT

    def get_usage(self, **_: Any) -> Any:
        return SimpleNamespace(days=[])

    def get_credits(self) -> records.CreditsBalance:
        refill = records.AutoRefill(
            available=self.sells, enabled=False, status="off", threshold=None, amount=None, unit_credits=500,
            unit_price_usd=9.0, amounts=[500, 1000],
        )  # fmt: skip
        address = "https://buy.example/500" if self.sells else None
        pack = records.Pack(
            id="p",
            name="500",
            credits=500,
            price_usd=10.0,
            price_per_credit=0.02,
            available=self.sells,
            url=address,
        )
        balance = records.Credits(
            available=7, plan="Elite", plan_allowance=10, plan_used=3, plan_remaining=7, bonus=0, referral=0,
            next_reset_at=None, owed=0,
        )  # fmt: skip
        return records.CreditsBalance(
            credits=balance,
            costs=[],
            packs=[pack],
            auto_refill=refill,
            billing_url="http://localhost/billing",
        )

    def edit_auto_refill(self, **wanted: Any) -> None:
        self.saved.append({name: value for name, value in wanted.items() if name != "idempotency_key"})


@pytest.fixture
def selling(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client(sells=True)
    monkeypatch.setattr(api, "own", lambda: client)
    return client


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    browser = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    browser.set_cookie("posthaste_session", "svc_sess_x")
    return browser


def save(browser: FlaskClient, **form: str) -> Any:
    found = re.search(r'name="form_token" value="(\w+)"', browser.get("/usage").text)
    assert found
    return browser.post("/usage/auto-refill", data={"form_token": found[1], **form})


def test_packs_are_links_and_auto_refill_is_a_form(selling: Client, browser: FlaskClient) -> None:
    page = browser.get("/usage").text
    assert 'href="https://buy.example/500"' in page
    assert "Buy for $10.00" in page
    assert "charged to the card stored for your account" in page
    assert "1,000 credits – $18.00</option>" in page
    answer = save(browser, enabled="yes", threshold="40", amount="500")
    assert answer.location == "/usage?done=refill#credits"
    assert selling.saved == [{"enabled": True, "threshold": 40, "amount": 500}]
    save(browser, enabled="no", threshold="40", amount="500")
    assert selling.saved[1:] == [{"enabled": False}]


def test_a_threshold_that_is_no_number_changes_nothing(selling: Client, browser: FlaskClient) -> None:
    answer = save(browser, enabled="yes", threshold="many", amount="500")
    assert (answer.status_code, selling.saved) == (400, [])
    assert "Enter a whole number of credits." in answer.text


def test_where_nothing_is_sold_nothing_is_offered(
    monkeypatch: pytest.MonkeyPatch, browser: FlaskClient
) -> None:
    monkeypatch.setattr(api, "own", lambda: Client(sells=False))
    page = browser.get("/usage").text
    assert "Buy" not in page


@pytest.mark.parametrize(
    ("address", "screen"),
    [
        ("/billing", "/usage#credits"),
        ("/billing/packs", "/usage#credits"),
        ("/billing/auto-refill", "/usage#credits"),
        ("/pages/pag_1/reconnect", "/pages#pag_1"),
        ("/activity", "/activity/audit"),
    ],
)
def test_the_addresses_in_the_apis_answers_lead_to_a_screen(
    browser: FlaskClient, address: str, screen: str
) -> None:
    assert browser.get(address).location == screen


def show_account(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, *, requests: int = 0, stored: int = 0,
    remaining: int = 10, disabled: str = "", **monthly: tuple[int, int],
) -> str:  # fmt: skip
    """Returns the HTML of the overview's part about an account with these figures. `monthly` maps a meter to the units
    used and their limit.
    """
    client = Client(sells=False)
    uses = {name: SimpleNamespace(used=used, limit=limit) for name, (used, limit) in monthly.items()}
    told = SimpleNamespace(
        user=SimpleNamespace(email="ada@a.test"),
        quota=SimpleNamespace(
            monthly=SimpleNamespace(**ACCOUNT.quota.monthly | uses),
            storage=SimpleNamespace(used_bytes=stored, limit_bytes=10),
            rate_limit=SimpleNamespace(per_minute=300, per_day=1_000),
        ),
        credits=SimpleNamespace(remaining=remaining),
    )
    hooks = [SimpleNamespace(id="whk_1", name=disabled, status="disabled")] if disabled else []
    today = SimpleNamespace(days=[SimpleNamespace(date="2026-11-27", requests=requests)])
    for name, answer in (
        ("get_account", told), ("list_webhooks", SimpleNamespace(webhooks=hooks)), ("get_usage", today),
    ):  # fmt: skip
        monkeypatch.setattr(client, name, lambda answer=answer, **_: answer, raising=False)
    monkeypatch.setattr(api, "reader", lambda: client)
    monkeypatch.setattr(kept, "_values", {})
    return browser.get("/overview/account", headers={"HX-Request": "true"}).text


@pytest.mark.parametrize(("used", "is_near"), [(7, False), (8, True), (10, True)])
def test_the_overview_warns_of_limits_that_are_nearly_reached(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, used: int, is_near: bool
) -> None:
    part = show_account(
        browser, monkeypatch, publishes=(used, 10), stored=used, requests=100 * used, remaining=17 - used
    )
    assert (f"{used} of 10 posts of this month are used" in part) == is_near
    assert ("of storage are used" in part) == is_near
    assert (f"{100 * used:,} of 1,000 requests of today are used" in part) == is_near
    assert (f"{17 - used} AI credits are left" in part) == is_near
    assert "<html" not in part


def test_the_overview_warns_of_each_limit_of_the_month(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = show_account(browser, monkeypatch, replies=(19, 20), webhooks=(9, 10), reads=(1, 10))
    assert "19 of 20 replies of this month are used" in part
    assert "9 of 10 webhook deliveries of this month are used" in part
    assert "reads of this month" not in part


def test_without_javascript_limits_and_webhooks_have_a_page_to_which_the_overview_leads(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert '<strong dir="auto">The till</strong>' in show_account(browser, monkeypatch, disabled="The till")
    page = browser.get("/overview/account").text
    assert "<h1>Limits and webhooks</h1>" in page
    assert "The till" in page
    assert "No limit is near its end" not in page
    show_account(browser, monkeypatch)
    assert "No limit is near its end" in browser.get("/overview/account").text
    nothing = SimpleNamespace(scheduled_posts=[], next_cursor=None)
    client = SimpleNamespace(
        list_scheduled_posts=lambda **_: nothing, iterate_pages=lambda **_: [], iterate_brands=lambda **_: []
    )
    monkeypatch.setattr(api, "reader", lambda: client)
    overview = browser.get("/").text
    assert '<p class="without-script"><a href="/overview/account">' in overview
    assert "Looking at limits and webhooks…" in overview
