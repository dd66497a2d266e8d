"""`credits`: the account's tier comes from the accounts service, everything else from the AI service."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from contracts.accounts import GetUser, User
from contracts.ai import AutoRefill, Credits, CreditsBalance
from contracts.caller import OPERATOR_SCOPE
from contracts.errors import EMAIL_NOT_VERIFIED, ApiError

USER = User(
    id="usr_1", email="ann@example.com", firstname="Ann", lastname="", tier="pro",
    created_at=datetime(2027, 1, 1, tzinfo=UTC),
)  # fmt: skip
BALANCE = CreditsBalance(
    credits=Credits(
        available=1_805, plan="Advanced", plan_allowance=1_300, plan_used=0, plan_remaining=1_300, bonus=505,
        referral=5, next_reset_at=None,
    ),
    costs=(), packs=(),
    auto_refill=AutoRefill(
        available=False, enabled=False, status="not_configured", threshold=None, amount=None, unit_credits=500,
        unit_price_usd=9.0, amounts=(500,),
    ),
    billing_url="https://example.test",
)  # fmt: skip


@pytest.fixture
def answers(line: Any) -> None:
    line.bus.answers |= {
        "get_user": USER,
        "grant_credits": BALANCE,
        "get_credits": BALANCE,
        "set_auto_refill": BALANCE,
    }


@pytest.mark.usefixtures("answers")
def test_grant_names_the_account_with_its_tier_and_prints_the_balance(line: Any) -> None:
    answer = line.json("credits", "grant", "--user", "usr_1", "--amount", "505", "--referral")
    assert answer["credits"]["available"] == 1_805
    _, caller, request = line.bus.calls[1]
    assert caller.scopes == (OPERATOR_SCOPE,)
    assert (request.account_id, request.tier, request.amount, request.referral) == ("usr_1", "pro", 505, True)


@pytest.mark.usefixtures("answers")
@pytest.mark.parametrize(
    "gift",
    [("grant", "--amount", "5"), ("auto-refill", "--threshold", "10", "--amount", "500")],
    ids=["grant", "refill"],
)
def test_an_unverified_account_is_given_nothing(line: Any, gift: tuple[str, ...]) -> None:
    def get_user(request: GetUser) -> User:
        if request.verified:
            raise ApiError(EMAIL_NOT_VERIFIED)
        return USER

    line.bus.answers["get_user"] = get_user
    command, *options = gift
    answer = line.json("credits", command, "--user", "usr_1", *options, exit_code=1)
    assert answer["code"] == "EMAIL_NOT_VERIFIED"
    assert [method for method, _, _ in line.bus.calls] == ["get_user"]


@pytest.mark.usefixtures("answers")
def test_an_unverified_accounts_balance_is_shown_as_it_sees_it(line: Any) -> None:
    line.bus.answers["get_user"] = replace(USER, verified=False)
    line.json("credits", "show", "--user", "usr_1")
    assert line.bus.calls[1][1].verified is False


@pytest.mark.usefixtures("answers")
def test_two_grants_are_two_operations_unless_they_have_one_reference(line: Any) -> None:
    for reference in ((), (), ("--reference", "inv-7"), ("--reference", "inv-7")):
        line.json("credits", "grant", "--user", "usr_1", "--amount", "5", *reference)
    first, second, third, fourth = (call[1].operation_id for call in line.bus.calls[1::2])
    assert first != second
    assert third == fourth != first


@pytest.mark.usefixtures("answers")
def test_show_asks_as_the_account(line: Any) -> None:
    assert line.json("credits", "show", "--user", "usr_1")["credits"]["plan"] == "Advanced"
    caller = line.bus.calls[1][1]
    assert (caller.account_id, caller.tier) == ("usr_1", "pro")


@pytest.mark.usefixtures("answers")
def test_auto_refill_is_set_and_turned_off(line: Any) -> None:
    set_ = ("credits", "auto-refill", "--user", "usr_1")
    line.json(
        *set_, "--threshold", "50", "--amount", "1000", "--customer", "cus_1", "--payment-method", "pm_1"
    )
    line.json(*set_, "--off")
    on, off = line.bus.calls[1][2], line.bus.calls[3][2]
    assert (on.enabled, on.threshold, on.amount) == (True, 50, 1_000)
    assert (on.payment_customer, on.payment_method) == ("cus_1", "pm_1")
    assert (off.enabled, off.threshold, off.amount) == (False, None, None)
