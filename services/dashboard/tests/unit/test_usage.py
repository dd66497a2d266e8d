"""Usage and billing: limits, buying AI credits, and the addresses that the API's answers name."""

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
    """An API that sells packs and auto-refill."""

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
        ("/activity/requests?token_id=tok_1&_scheme=x", "/developers/requests?token_id=tok_1"),
        ("/activity/requests/req_1", "/developers/requests/req_1"),
    ],
)
def test_the_addresses_in_the_apis_answers_and_those_of_before_lead_to_a_screen(
    browser: FlaskClient, address: str, screen: str
) -> None:
    assert browser.get(address).location == screen


@pytest.mark.parametrize(("used", "is_near"), [(7, False), (8, True), (10, True)])
def test_the_overview_warns_of_limits_that_are_nearly_reached(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, used: int, is_near: bool
) -> None:
    client = Client(sells=False)
    quota = SimpleNamespace(
        monthly=ACCOUNT.quota.monthly | {"publishes": SimpleNamespace(used=used, limit=10)},
        storage=SimpleNamespace(used_bytes=used, limit_bytes=10),
    )
    quota.monthly = SimpleNamespace(**quota.monthly)
    told = SimpleNamespace(quota=quota)
    monkeypatch.setattr(client, "get_account", lambda: told)
    monkeypatch.setattr(client, "list_webhooks", lambda **_: SimpleNamespace(webhooks=[]), raising=False)
    monkeypatch.setattr(api, "reader", lambda: client)
    monkeypatch.setattr(kept, "_values", {})
    page = browser.get("/overview/account").text
    assert (f"{used} of 10 posts of this month are used" in page) == is_near
    assert ("of storage are used" in page) == is_near


def test_the_overview_warns_of_each_limit_of_the_month(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(sells=False)
    monthly = dict.fromkeys(("publishes", "reads"), USE) | {
        "replies": SimpleNamespace(used=19, limit=20), "webhooks": SimpleNamespace(used=9, limit=10),
        "resets_at": ACCOUNT.quota.monthly["resets_at"],
    }  # fmt: skip
    quota = SimpleNamespace(
        monthly=SimpleNamespace(**monthly), storage=SimpleNamespace(used_bytes=0, limit_bytes=10)
    )
    monkeypatch.setattr(client, "get_account", lambda: SimpleNamespace(quota=quota))
    monkeypatch.setattr(client, "list_webhooks", lambda **_: SimpleNamespace(webhooks=[]), raising=False)
    monkeypatch.setattr(api, "reader", lambda: client)
    monkeypatch.setattr(kept, "_values", {})
    page = browser.get("/overview/account").text
    assert "19 of 20 replies of this month are used" in page
    assert "9 of 10 webhook deliveries of this month are used" in page
    assert "reads of this month" not in page
