"""Who may sign up, and the rate limits of sign-up."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from accounts.users import invites
from contracts.accounts import Invite, InviteUser
from contracts.caller import Caller, operator
from contracts.errors import ApiError

STRANGER = Caller(account_id="", user_id="")


def refusal(function: Any, *args: Any, **values: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value


def invited(accounts: Any, email: str = "ann@example.com", operation_id: str | None = "op_invite") -> Invite:
    caller = replace(operator(), operation_id=operation_id)
    return accounts.call(invites.invite_user, accounts.config, caller, InviteUser(email=email))


@pytest.fixture
def by_invite(accounts: Any) -> Any:
    accounts.config = replace(accounts.config, signups="invite")
    return accounts


# -- the setting ---------------------------------------------------------------------------------------------------


def test_open_to_anybody_the_account_is_unverified(accounts: Any) -> None:
    created = accounts.sign_up(STRANGER)
    assert not created.user.verified
    caller = accounts.authenticate(created.sandbox_api_token).caller
    assert (caller.sandbox, caller.verified) == (True, False)


def test_switched_off_nobody_signs_up_whatever_the_address_and_the_code(accounts: Any) -> None:
    code = invited(accounts).code
    accounts.user()
    accounts.config = replace(accounts.config, signups="off")
    codes = {
        refusal(accounts.sign_up, STRANGER, email=email, invite_code=code).code
        for email in ("ann@example.com", "user1@example.com", "new@example.com")
    }
    assert codes == {"SIGNUPS_CLOSED"}


def test_by_invite_the_account_is_verified_at_once(by_invite: Any) -> None:
    created = by_invite.sign_up(STRANGER, invite_code=invited(by_invite).code)
    assert created.user.verified
    assert by_invite.authenticate(created.sandbox_api_token).caller.verified
    assert by_invite.brand(created.user)


def test_without_a_good_code_nobody_learns_whether_an_address_has_an_account(by_invite: Any) -> None:
    taken = by_invite.user().email
    of_another = invited(by_invite, "bob@example.com").code
    for email in (taken, "new@example.com"):
        for code in (None, "", "wrong", of_another, "\ud800"):
            assert (
                refusal(by_invite.sign_up, STRANGER, email=email, invite_code=code).code == "INVITE_REQUIRED"
            )


def test_a_code_opens_one_account_however_many_come_with_it_at_once(by_invite: Any) -> None:
    code = invited(by_invite).code

    def outcome(_: int) -> str:
        try:
            return by_invite.sign_up(STRANGER, invite_code=code).user.email
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(5) as pool:
        outcomes = list(pool.map(outcome, range(5)))
    assert outcomes.count("ann@example.com") == 1
    assert set(outcomes) <= {"ann@example.com", "EMAIL_TAKEN", "INVITE_REQUIRED"}
    assert refusal(by_invite.sign_up, STRANGER, invite_code=code).code == "INVITE_REQUIRED"


def test_an_invited_sign_up_whose_answer_was_lost_is_answered_again(by_invite: Any) -> None:
    caller = replace(STRANGER, operation_id="op_1")
    code = invited(by_invite).code
    assert by_invite.sign_up(caller, invite_code=code) == by_invite.sign_up(caller, invite_code=code)


def test_an_invite_takes_the_place_of_a_strangers_sign_up(accounts: Any) -> None:
    stranger = accounts.sign_up(STRANGER, password="the stranger's")
    created = accounts.sign_up(STRANGER, invite_code=invited(accounts).code)
    assert created.user.id != stranger.user.id
    assert refusal(accounts.authenticate, stranger.sandbox_api_token).code == "INVALID_TOKEN"


def test_an_invite_ends_after_a_week_and_a_new_one_ends_the_old(by_invite: Any) -> None:
    old, new = invited(by_invite), invited(by_invite, operation_id="op_again")
    assert refusal(by_invite.sign_up, STRANGER, invite_code=old.code).code == "INVITE_REQUIRED"
    by_invite.shift_clock(7 * 86_400 + 1)
    assert refusal(by_invite.sign_up, STRANGER, invite_code=new.code).code == "INVITE_REQUIRED"
    assert invited(by_invite, operation_id="op_again").code != new.code


def test_an_invite_whose_answer_was_lost_is_shown_again(accounts: Any) -> None:
    assert invited(accounts) == invited(accounts)


def test_a_verified_address_is_not_invited_and_strangers_invite_nobody(accounts: Any) -> None:
    assert refusal(invited, accounts, accounts.user().email).code == "EMAIL_TAKEN"
    request = InviteUser(email="eve@example.com")
    assert (
        refusal(accounts.call, invites.invite_user, accounts.config, STRANGER, request).code
        == "MISSING_SCOPE"
    )


# -- limits --------------------------------------------------------------------------------------------------------


def test_a_network_asks_for_a_few_addresses_an_hour_whether_they_have_accounts_or_not(accounts: Any) -> None:
    taken = [accounts.user().email for _ in range(6)]
    asked = [
        email for pair in zip(taken, (f"new{n}@example.com" for n in range(6)), strict=True) for email in pair
    ]
    answers = [outcome(accounts, email, "192.0.2.1") for email in asked]
    assert answers == ["EMAIL_TAKEN", "signed up"] * 5 + ["RATE_LIMITED"] * 2
    assert outcome(accounts, "other@example.com", "192.0.2.2") == "signed up"
    accounts.shift_clock(3_600)
    assert outcome(accounts, taken[5], "192.0.2.1") == "EMAIL_TAKEN"


@pytest.mark.parametrize("has_account", [True, False])
def test_an_address_is_asked_for_five_times_a_day_wherever_that_comes_from(
    accounts: Any, has_account: bool
) -> None:
    if has_account:
        accounts.create_user(operator())
    answers = [outcome(accounts, "ANN@example.com", f"192.0.2.{n}") for n in range(8)]
    assert answers[5:] == ["RATE_LIMITED"] * 3
    assert "RATE_LIMITED" not in answers[:5]
    accounts.shift_clock(86_400)
    assert outcome(accounts, "ann@example.com", "192.0.2.9") == "EMAIL_TAKEN"


def test_the_limits_hold_over_all_processes(accounts: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: outcome(accounts, f"new{n}@example.com", "192.0.2.1"), range(16)))
    assert (answers.count("signed up"), answers.count("RATE_LIMITED")) == (10, 6)


def test_a_refusal_says_when_to_come_again_and_nothing_of_the_address(accounts: Any) -> None:
    accounts.config = replace(accounts.config, signups_per_hour=1)
    accounts.sign_up(STRANGER, asker="192.0.2.1")
    refused = [
        refusal(accounts.sign_up, STRANGER, email=email, asker="192.0.2.1")
        for email in ("ann@example.com", "new@example.com")
    ]
    assert len({error.message for error in refused}) == 1
    assert all(0 < error.extras["retry_after_seconds"] <= 3_600 for error in refused)


def test_a_network_over_its_limit_does_not_use_up_the_tries_of_an_address(accounts: Any) -> None:
    accounts.config = replace(accounts.config, signups_per_hour=1)
    outcome(accounts, "new@example.com", "192.0.2.1")
    for _ in range(9):
        outcome(accounts, "ann@example.com", "192.0.2.1")
    assert outcome(accounts, "ann@example.com", "192.0.2.2") == "signed up"


def test_an_invite_is_not_counted(accounts: Any) -> None:
    for n in range(5):
        outcome(accounts, "ann@example.com", f"192.0.2.{n}")
    assert accounts.sign_up(STRANGER, invite_code=invited(accounts).code, asker="192.0.2.1")


def test_nobodys_address_is_stored_for_counting(accounts: Any) -> None:
    accounts.sign_up(STRANGER, asker="192.0.2.1")
    rows = accounts.call(lambda c: c.execute(text("SELECT subject FROM sign_up_tries")).scalars().all())
    assert len(rows) == 2
    assert not any("192.0.2.1" in row or "ann" in row for row in rows)


def outcome(accounts: Any, email: str, asker: str) -> str:
    try:
        accounts.sign_up(STRANGER, email=email, asker=asker)
    except ApiError as error:
        return error.code
    return "signed up"
