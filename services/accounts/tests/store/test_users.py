"""Users in PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from argon2 import PasswordHasher
from msgspec.structs import replace
from sqlalchemy import text

from accounts.tokens import tokens
from accounts.tokens.scopes import SANDBOX_SCOPES
from accounts.users import users
from contracts.accounts import ChangeTier, GetUser, ListTokens, ListUsers
from contracts.caller import Caller, operator
from contracts.errors import ApiError

STRANGER = Caller(account_id="", user_id="")


def test_a_new_account_has_a_sandbox_token_that_can_only_read(accounts: Any) -> None:
    created = accounts.sign_up(STRANGER)
    found = accounts.authenticate(created.sandbox_api_token)
    assert created.sandbox_api_token.startswith("svc_test_")
    assert found.caller.sandbox
    assert found.caller.scopes == SANDBOX_SCOPES
    assert found.user == created.user
    assert found.token.prefix == created.sandbox_api_token[:12]


def test_signing_up_gives_the_free_tier(accounts: Any) -> None:
    assert accounts.sign_up(STRANGER).user.tier == "free"


def test_the_password_is_stored_as_a_hash(accounts: Any) -> None:
    accounts.sign_up(STRANGER)
    hashed = accounts.call(lambda c: c.execute(text("SELECT password_hash FROM users")).scalar_one())
    assert PasswordHasher().verify(hashed, "correct horse")


def test_the_operator_lists_all_users_newest_first_and_finds_one_by_its_address(accounts: Any) -> None:
    made = [accounts.sign_up(STRANGER, email=f"{name}@example.com").user.id for name in ("ann", "bob", "eve")]
    shown, cursor = [], None
    while cursor is not None or not shown:
        page = accounts.call(users.list_users, operator(), ListUsers(limit=2, cursor=cursor))
        shown += [user.id for user in page.users]
        cursor = page.next_cursor
    assert shown == made[::-1]
    [found] = accounts.call(users.list_users, operator(), ListUsers(email="BOB@example.com ")).users
    assert found.id == made[1]
    assert accounts.call(users.list_users, operator(), ListUsers(email="zoe@example.com")).users == ()


def test_nobody_but_the_operator_lists_users(accounts: Any) -> None:
    made = accounts.sign_up(STRANGER).user.id
    with pytest.raises(ApiError) as caught:
        accounts.call(users.list_users, Caller(account_id=made, user_id=made), ListUsers())
    assert caught.value.code == "MISSING_SCOPE"


def test_an_address_is_taken_whatever_its_case(accounts: Any) -> None:
    accounts.sign_up(STRANGER, email="ann@example.com")
    with pytest.raises(ApiError) as caught:
        accounts.sign_up(STRANGER, email="ANN@Example.com")
    assert caught.value.code == "EMAIL_TAKEN"


def test_the_same_address_ten_times_at_once_makes_one_account(accounts: Any) -> None:
    def outcome(_: int) -> str:
        try:
            return accounts.create_user(operator()).user.email
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(10) as pool:
        outcomes = sorted(pool.map(outcome, range(10)))
    assert outcomes == ["EMAIL_TAKEN"] * 9 + ["ann@example.com"]


def test_a_repeated_operation_answers_with_the_same_user_and_token(accounts: Any) -> None:
    caller = replace(STRANGER, operation_id="op_1")
    assert accounts.sign_up(caller) == accounts.sign_up(caller)


def test_the_same_operation_ten_times_at_once_makes_one_user(accounts: Any) -> None:
    caller = replace(operator(), operation_id="op_1")
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: accounts.create_user(caller), range(10)))
    assert len(set(answers)) == 1


def test_an_operation_with_another_address_is_a_mismatch(accounts: Any) -> None:
    caller = replace(STRANGER, operation_id="op_1")
    accounts.sign_up(caller)
    with pytest.raises(ApiError) as caught:
        accounts.sign_up(caller, email="eve@example.com")
    assert caught.value.code == "IDEMPOTENCY_KEY_MISMATCH"


def test_only_the_operator_makes_users_of_any_tier(accounts: Any) -> None:
    with pytest.raises(ApiError) as caught:
        accounts.create_user(STRANGER)
    assert caught.value.code == "MISSING_SCOPE"
    assert accounts.user(tier="elite").tier == "elite"


def test_a_user_sees_himself_and_nobody_else(accounts: Any) -> None:
    ann, eve = accounts.user(), accounts.user()
    caller = Caller(account_id=ann.id, user_id=ann.id)
    assert accounts.call(users.get_user, caller, GetUser(user_id=ann.id)) == ann
    with pytest.raises(ApiError) as caught:
        accounts.call(users.get_user, caller, GetUser(user_id=eve.id))
    assert caught.value.code == "NOT_FOUND"


def test_a_changed_tier_holds_at_the_next_request_and_is_told_to_those_who_keep_it(accounts: Any) -> None:
    ann = accounts.user()
    token = accounts.token(ann).api_token
    accounts.call(users.change_tier, operator(), ChangeTier(user_id=ann.id, tier="pro"))
    assert accounts.authenticate(token).caller.tier == "pro"
    assert accounts.staged() == [{"token_ids": [], "account_ids": [ann.id]}]
    assert accounts.staged("account.changed") == [{"account_id": ann.id, "tier": "pro"}]


def test_a_repeated_change_of_tier_does_not_undo_a_later_one(accounts: Any) -> None:
    ann = accounts.user()
    first, second = (replace(operator(), operation_id=f"op_{number}") for number in range(2))
    upgrade, downgrade = (ChangeTier(user_id=ann.id, tier=tier) for tier in ("elite", "free"))
    for caller, change, tier in (
        (first, upgrade, "elite"),
        (second, downgrade, "free"),
        (first, upgrade, "free"),
    ):
        assert accounts.call(users.change_tier, caller, change).tier == tier
    assert [told["tier"] for told in accounts.staged("account.changed")] == ["elite", "free"]


def test_the_sandbox_token_is_listed_with_the_others(accounts: Any) -> None:
    ann = accounts.user()
    made = accounts.token(ann).token
    listed = accounts.call(tokens.list_tokens, operator(), ListTokens(user_id=ann.id)).tokens
    assert [token.sandbox for token in listed] == [False, True]
    assert listed[0] == made


def test_times_come_back_in_utc_and_whole_milliseconds(accounts: Any) -> None:
    created_at = accounts.user().created_at
    assert created_at.utcoffset().total_seconds() == 0
    assert created_at.microsecond % 1000 == 0
