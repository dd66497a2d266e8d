"""The checks of a token when a request authenticates with it."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from accounts.store.tokens import Credential
from accounts.tokens.authentication import authenticated
from contracts.accounts import Token, User
from contracts.errors import ApiError

NOW = datetime(2027, 1, 1, tzinfo=UTC)
TOKEN = Token(id="tok_1", name="", prefix="svc_live_abc", scopes=("read:brands",))
OWNER = User(id="usr_owner", email="o@example.com", firstname="", lastname="", tier="pro", created_at=NOW)
FOUND = Credential(
    account_id="usr_owner", tier="pro", verified=True, token=TOKEN, user=OWNER, role=None, now=NOW
)
COLLABORATORS = Credential(
    account_id="usr_owner",
    tier="pro",
    verified=True,
    token=replace(
        TOKEN, brand_ids=("brd_1",), on_behalf_of_brand_id="brd_1", issued_by_collaborator_id="usr_helper"
    ),
    user=replace(OWNER, id="usr_helper", tier="free"),
    role="full",
    now=NOW,
)

#: A session of the collaborator on the brand.
INSIDE = replace(COLLABORATORS, token=replace(COLLABORATORS.token, session=True), parent_lives=True)


def test_an_unrestricted_token_reaches_every_brand() -> None:
    caller = authenticated(FOUND).caller
    assert caller.brand_ids is None
    assert (caller.account_id, caller.user_id, caller.scopes) == ("usr_owner", "usr_owner", ("read:brands",))


def test_a_restricted_token_reaches_its_brands_alone() -> None:
    caller = authenticated(replace(FOUND, token=replace(TOKEN, brand_ids=("brd_1", "brd_2")))).caller
    assert caller.brand_ids == ("brd_1", "brd_2")


def test_a_collaborators_token_acts_on_the_owners_account_and_tier_as_the_collaborator() -> None:
    found = authenticated(COLLABORATORS)
    assert (found.caller.account_id, found.caller.tier) == ("usr_owner", "pro")
    assert found.caller.user_id == found.user.id == "usr_helper"
    assert found.caller.brand_ids == ("brd_1",)


@pytest.mark.parametrize(("role", "pays"), [("full", True), ("limited", False)])
def test_a_session_on_a_brand_has_the_scopes_of_the_role_whatever_is_stored(role: str, pays: bool) -> None:
    stored = replace(INSIDE, role=role, token=replace(INSIDE.token, scopes=("*", "manage:*")))
    found = authenticated(stored)
    assert found.token.scopes == found.caller.scopes
    assert (found.caller.has_scope("write:posts"), found.caller.has_scope("write:ai")) == (True, pays)
    assert not any(it.startswith("manage:") for it in found.caller.scopes)


def test_the_sandbox_token_is_marked() -> None:
    assert authenticated(replace(FOUND, token=replace(TOKEN, sandbox=True))).caller.sandbox


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (replace(FOUND, token=replace(TOKEN, revoked_at=NOW, expires_at=NOW)), "TOKEN_REVOKED"),
        (replace(FOUND, token=replace(TOKEN, expires_at=NOW)), "TOKEN_EXPIRED"),
        (replace(COLLABORATORS, role="limited"), "COLLABORATOR_INSUFFICIENT"),
        (replace(COLLABORATORS, role=None), "COLLABORATOR_INSUFFICIENT"),
        (replace(COLLABORATORS, role=None, token=replace(TOKEN, revoked_at=NOW)), "TOKEN_REVOKED"),
        (replace(INSIDE, parent_lives=False), "TOKEN_REVOKED"),
        (replace(INSIDE, role=None), "COLLABORATOR_INSUFFICIENT"),
        (replace(INSIDE, role="a role of a later release"), "COLLABORATOR_INSUFFICIENT"),
    ],
)
def test_a_token_that_is_no_longer_good_says_why(found: Credential, code: str) -> None:
    with pytest.raises(ApiError) as caught:
        authenticated(found)
    assert caught.value.code == code


def test_a_token_is_good_until_the_last_millisecond() -> None:
    assert authenticated(replace(FOUND, token=replace(TOKEN, expires_at=NOW + timedelta(milliseconds=1))))
