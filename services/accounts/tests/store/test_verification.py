"""Unverified accounts own nothing. Mail and password together verify them, or the operator does; otherwise they are
deleted.
"""

from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from accounts import collaborators, derived_secrets
from accounts.store.users import UserStore
from accounts.users import users, verification
from contracts.accounts import (
    ChangeTier,
    ConfirmVerification,
    CreatedUser,
    GetUser,
    SetCollaborator,
    UserId,
    Verification,
    VerificationLink,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError

STRANGER = Caller(account_id="", user_id="")


def refusal(function: Any, *args: Any, **values: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value


@pytest.fixture
def eve(accounts: Any) -> CreatedUser:
    """A stranger who signed up with the address of somebody else, ann@example.com."""
    return accounts.sign_up(STRANGER, password="eve's password", firstname="Eve")


def link(accounts: Any, created: CreatedUser) -> VerificationLink:
    code = derived_secrets.verification_code(accounts.config, created.user.id)
    return VerificationLink(user_id=created.user.id, code=code)


def confirm(accounts: Any, created: CreatedUser, password: str = "correct horse") -> Verification:
    request = ConfirmVerification(
        **{name: getattr(link(accounts, created), name) for name in ("user_id", "code")}, password=password
    )
    return verification.confirm(accounts.database, accounts.config, request)


def rows(accounts: Any, table: str) -> int:
    return accounts.call(lambda c: c.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


# -- the audit's proof: an operator sets a customer up on an address that a stranger holds -----------------------------


def test_an_operator_who_takes_over_an_address_voids_the_strangers_token_names_and_password(
    accounts: Any, eve: CreatedUser
) -> None:
    created = accounts.create_user(operator(), tier="pro", firstname="Ann")
    assert created.voided_user_id == eve.user.id
    assert created.user.id != eve.user.id
    assert (created.user.firstname, created.user.verified) == ("Ann", True)
    accounts.brand(created.user)
    assert refusal(accounts.authenticate, eve.sandbox_api_token).code == "INVALID_TOKEN"
    assert refusal(confirm, accounts, eve, "eve's password").code == "NOT_FOUND"
    hashes = accounts.call(lambda c: c.execute(text("SELECT password_hash FROM users")).scalars().all())
    assert hashes == [None]
    assert {"token_ids": [], "account_ids": [eve.user.id]} in accounts.staged()


def test_a_takeover_whose_answer_was_lost_is_answered_again(accounts: Any, eve: CreatedUser) -> None:
    caller = replace(operator(), operation_id="op_1")
    first = accounts.create_user(caller)
    assert accounts.create_user(caller).user == first.user
    assert rows(accounts, "users") == 1


def test_a_verified_account_is_taken_over_by_nobody(accounts: Any, eve: CreatedUser) -> None:
    accounts.call(verification.verify_user, operator(), UserId(user_id=eve.user.id))
    assert refusal(accounts.create_user, operator()).code == "EMAIL_TAKEN"
    assert accounts.authenticate(eve.sandbox_api_token).caller.verified


def test_another_sign_up_takes_over_nothing(accounts: Any, eve: CreatedUser) -> None:
    assert refusal(accounts.sign_up, STRANGER).code == "EMAIL_TAKEN"
    assert accounts.authenticate(eve.sandbox_api_token)


# -- what an unverified account can be given: nothing --------------------------------------------------------------


def test_an_unverified_account_is_given_no_brand_token_tier_or_role_and_is_no_grants_account(
    accounts: Any, eve: CreatedUser
) -> None:
    brand = accounts.brand(accounts.user())
    give = {
        "brand": lambda: accounts.brand(eve.user),
        "token": lambda: accounts.token(eve.user),
        "tier": lambda: accounts.call(
            users.change_tier, operator(), ChangeTier(user_id=eve.user.id, tier="elite")
        ),
        "role": lambda: accounts.call(
            collaborators.set_collaborator,
            operator(),
            SetCollaborator(brand_id=brand.id, user_id=eve.user.id, role="full"),
        ),
        "grant": lambda: accounts.call(
            users.get_user, operator(), GetUser(user_id=eve.user.id, verified=True)
        ),
    }
    assert {name: refusal(gift).code for name, gift in give.items()} == dict.fromkeys(
        give, "EMAIL_NOT_VERIFIED"
    )
    held = {table: rows(accounts, table) for table in ("tokens", "collaborators", "brands")}
    assert held == {"tokens": 2, "collaborators": 0, "brands": 1}  # the two sandbox tokens, the owner's brand


def test_it_may_read_with_its_sandbox_token_and_is_marked_for_the_services(
    accounts: Any, eve: CreatedUser
) -> None:
    found = accounts.authenticate(eve.sandbox_api_token)
    assert (found.caller.sandbox, found.caller.verified) == (True, False)
    assert accounts.call(users.get_user, found.caller, GetUser(user_id=eve.user.id)) == eve.user


def test_once_verified_it_can_be_given_everything(accounts: Any) -> None:
    created = accounts.sign_up(STRANGER)
    assert confirm(accounts, created).verified
    assert accounts.brand(created.user)
    assert accounts.token(created.user)
    assert accounts.authenticate(created.sandbox_api_token).caller.verified
    assert {"token_ids": [], "account_ids": [created.user.id]} in accounts.staged()


# -- the link ----------------------------------------------------------------------------------------------------------


def test_looking_at_the_link_verifies_nothing(accounts: Any, eve: CreatedUser) -> None:
    for _ in range(3):
        seen = accounts.call(verification.view, accounts.config, link(accounts, eve))
        assert seen == Verification(email="ann@example.com", verified=False)


def test_the_owner_of_the_mailbox_who_did_not_sign_up_cannot_verify_the_strangers_account(
    accounts: Any, eve: CreatedUser
) -> None:
    error = refusal(confirm, accounts, eve, "ann's password")
    assert (error.code, error.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", "password")
    assert refusal(accounts.brand, eve.user).code == "EMAIL_NOT_VERIFIED"


def test_passwords_are_tried_ten_times_a_day(accounts: Any, eve: CreatedUser) -> None:
    codes = [refusal(confirm, accounts, eve, "wrong").code for _ in range(11)]
    assert codes == ["VALIDATION_ERROR"] * 10 + ["RATE_LIMITED"]
    assert refusal(confirm, accounts, eve, "eve's password").code == "RATE_LIMITED"


@pytest.mark.parametrize("code", ["", "0" * 32, "é", "\ud800"])
def test_a_link_with_another_code_leads_nowhere(accounts: Any, eve: CreatedUser, code: str) -> None:
    wrong = replace(link(accounts, eve), code=code)
    assert refusal(accounts.call, verification.view, accounts.config, wrong).code == "NOT_FOUND"
    assert refusal(accounts.call, verification.refuse, accounts.config, wrong).code == "NOT_FOUND"
    request = ConfirmVerification(user_id=wrong.user_id, code=code, password="eve's password")
    assert refusal(verification.confirm, accounts.database, accounts.config, request).code == "NOT_FOUND"


def test_the_link_of_one_account_is_not_good_for_another(accounts: Any, eve: CreatedUser) -> None:
    bob = accounts.sign_up(STRANGER, email="bob@example.com")
    mixed = replace(link(accounts, eve), user_id=bob.user.id)
    assert refusal(accounts.call, verification.view, accounts.config, mixed).code == "NOT_FOUND"


def test_confirming_twice_changes_nothing_the_second_time(accounts: Any) -> None:
    created = accounts.sign_up(STRANGER)
    assert confirm(accounts, created) == confirm(accounts, created)
    staged = [told for told in accounts.staged() if told.get("account_ids")]
    assert len(staged) == 1


def test_a_used_link_tells_the_present_address_only_with_the_password(accounts: Any) -> None:
    created = accounts.sign_up(STRANGER)
    confirm(accounts, created)
    accounts.call(lambda c: UserStore(c).set_email(created.user.id, "ann@new.example"))
    assert refusal(confirm, accounts, created, "a guess").code == "VALIDATION_ERROR"
    assert confirm(accounts, created).email == "ann@new.example"


def test_the_owner_of_the_mailbox_deletes_a_strangers_sign_up_and_the_address_is_free(
    accounts: Any, eve: CreatedUser
) -> None:
    assert not accounts.call(verification.refuse, accounts.config, link(accounts, eve)).verified
    assert refusal(accounts.authenticate, eve.sandbox_api_token).code == "INVALID_TOKEN"
    assert (
        refusal(accounts.call, verification.refuse, accounts.config, link(accounts, eve)).code == "NOT_FOUND"
    )
    assert accounts.sign_up(STRANGER).user.id != eve.user.id


def test_a_verified_account_is_not_deleted_by_its_old_link(accounts: Any) -> None:
    created = accounts.sign_up(STRANGER)
    confirm(accounts, created)
    assert accounts.call(verification.refuse, accounts.config, link(accounts, created)).verified
    assert accounts.authenticate(created.sandbox_api_token)


# -- without a mail server, and without anybody who confirms -------------------------------------------------------


def test_the_operator_confirms_by_the_id_that_the_sign_up_answered(accounts: Any, eve: CreatedUser) -> None:
    assert [user.id for user in accounts.call(verification.list_unverified, operator()).users] == [
        eve.user.id
    ]
    for _ in range(2):
        user = accounts.call(verification.verify_user, operator(), UserId(user_id=eve.user.id))
        assert user.verified
    assert accounts.call(verification.list_unverified, operator()).users == ()
    unknown = UserId(user_id="usr_" + "0" * 26)
    assert refusal(accounts.call, verification.verify_user, operator(), unknown).code == "NOT_FOUND"


def test_nobody_but_the_operator_confirms_or_lists(accounts: Any, eve: CreatedUser) -> None:
    caller = accounts.authenticate(eve.sandbox_api_token).caller
    request = UserId(user_id=eve.user.id)
    assert refusal(accounts.call, verification.verify_user, caller, request).code == "MISSING_SCOPE"
    assert refusal(accounts.call, verification.list_unverified, caller).code == "MISSING_SCOPE"


def test_an_account_that_stays_unverified_for_a_week_is_deleted_and_no_other(accounts: Any) -> None:
    eve = accounts.sign_up(STRANGER)
    verified, ours = accounts.sign_up(STRANGER, email="bob@example.com"), accounts.user()
    confirm(accounts, verified)
    accounts.shift_clock(7 * 86_400 - 60)
    assert accounts.call(verification.forget) == 0
    accounts.shift_clock(7 * 86_400 + 1)
    late = accounts.sign_up(STRANGER, email="late@example.com")
    assert accounts.call(verification.forget) == 1
    assert refusal(accounts.authenticate, eve.sandbox_api_token).code == "INVALID_TOKEN"
    for token in (verified.sandbox_api_token, late.sandbox_api_token):
        assert accounts.authenticate(token)
    assert accounts.call(users.get_user, operator(), GetUser(user_id=ours.id)) == ours
    assert {table: rows(accounts, table) for table in ("mails", "sign_up_tries")} == {
        "mails": 1,
        "sign_up_tries": 2,  # of the late one's network and address
    }


def test_accounts_stored_before_1_4_0_are_verified(accounts: Any) -> None:
    insert = (
        "INSERT INTO users (id, email, firstname, lastname, tier, created_at)"
        " VALUES ('usr_01arz3ndektsv4rrffq69g5fav', 'old@example.com', '', '', 'free', clock_now())"
    )
    accounts.call(lambda c: c.execute(text(insert)))
    request = GetUser(user_id="usr_01arz3ndektsv4rrffq69g5fav", verified=True)
    assert accounts.call(users.get_user, operator(), request).email == "old@example.com"
