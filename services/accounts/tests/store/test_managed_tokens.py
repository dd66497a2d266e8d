"""Tokens that people manage themselves, without the operator."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from accounts import audit
from accounts.tokens import own_tokens, tokens
from accounts.users import sessions, users
from contracts.accounts import (
    CreatedToken,
    CreateToken,
    EditProfile,
    EditToken,
    ListAudit,
    ListTokens,
    LogIn,
    RevokeToken,
    Token,
    TokenId,
    User,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError

PASSWORD = "correct horse"


@pytest.fixture
def ann(accounts: Any) -> User:
    return accounts.create_user(operator(), password=PASSWORD, tier="pro").user


def signed_in(accounts: Any, email: str = "ann@example.com") -> Caller:
    request = LogIn(email=email, password=PASSWORD, asker="192.0.2.1")
    made = sessions.log_in(accounts.database, accounts.config, request)
    return accounts.authenticate(made.session_token).caller


def create(accounts: Any, caller: Caller, **values: Any) -> CreatedToken:
    request = CreateToken(**{"user_id": caller.user_id, "scopes": ("*",), "name": "CI", **values})
    return accounts.call(own_tokens.issue_token, accounts.config, caller, request)


def caller_of(accounts: Any, made: CreatedToken) -> Caller:
    return accounts.authenticate(made.api_token).caller


def edit(accounts: Any, caller: Caller, token_id: str, **values: Any) -> Token:
    return own_tokens.edit_token(accounts.database, caller, EditToken(token_id=token_id, **values))


def rotate(accounts: Any, caller: Caller, token_id: str) -> CreatedToken:
    return accounts.call(own_tokens.replace_token, accounts.config, caller, TokenId(token_id=token_id))


def revoke(accounts: Any, caller: Caller, token_id: str) -> Token:
    return accounts.call(tokens.revoke_token, caller, RevokeToken(token_id=token_id))


def refusal(function: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value.code


def test_a_person_makes_changes_rotates_and_revokes_a_token(accounts: Any, ann: User) -> None:
    caller = signed_in(accounts)
    made = create(accounts, caller, scopes=("read:posts",))
    assert caller_of(accounts, made).account_id == ann.id
    edited = edit(
        accounts, caller, made.token.id, name="new", scopes=("write:posts",), ip_allowlist=("10.0.0.1",)
    )
    assert (edited.name, edited.scopes, edited.ip_allowlist) == ("new", ("write:posts",), ("10.0.0.1",))
    assert {"token_ids": [made.token.id], "account_ids": []} in accounts.staged()
    rotated = rotate(accounts, caller, made.token.id)
    assert (rotated.token.name, rotated.token.scopes) == ("new", ("write:posts",))
    assert refusal(accounts.authenticate, made.api_token) == "TOKEN_REVOKED"
    revoke(accounts, caller, rotated.token.id)
    assert refusal(accounts.authenticate, rotated.api_token) == "TOKEN_REVOKED"


def test_every_scope_does_not_lead_to_managing_the_account(accounts: Any, ann: User) -> None:
    """The gateway checks for manage:tokens before it calls; accounts checks the rest."""
    caller = caller_of(accounts, create(accounts, signed_in(accounts), scopes=("*", "manage:tokens")))
    for scopes in (("manage:*",), ("*", "manage:account"), ("manage:brands",)):
        assert refusal(create, accounts, caller, scopes=scopes) == "MISSING_SCOPE"
    mine = create(accounts, caller, scopes=("*",)).token.id
    assert refusal(edit, accounts, caller, mine, scopes=("manage:*",)) == "MISSING_SCOPE"
    assert refusal(edit, accounts, caller, caller.token_id, scopes=("*", "manage:*")) == "MISSING_SCOPE"


def test_a_stronger_token_is_neither_rotated_nor_changed_but_revoked(accounts: Any, ann: User) -> None:
    person = signed_in(accounts)
    stronger = create(accounts, person, scopes=("*", "manage:*"))
    caller = caller_of(accounts, create(accounts, person, scopes=("manage:tokens",)))
    assert refusal(rotate, accounts, caller, stronger.token.id) == "MISSING_SCOPE"
    assert refusal(edit, accounts, caller, stronger.token.id, scopes=("manage:tokens",)) == "MISSING_SCOPE"
    assert accounts.authenticate(stronger.api_token)
    assert revoke(accounts, caller, stronger.token.id).revoked_at


def test_a_token_takes_over_the_limits_of_its_maker_and_cannot_drop_them(accounts: Any, ann: User) -> None:
    person = signed_in(accounts)
    soon = ann.created_at.replace(microsecond=0) + timedelta(days=1)
    limited = create(
        accounts, person, scopes=("*", "manage:tokens"), ip_allowlist=("10.0.0.0/8",), expires_at=soon
    )
    caller = caller_of(accounts, limited)
    made = create(accounts, caller).token
    assert (made.ip_allowlist, made.expires_at) == (("10.0.0.0/8",), soon)
    assert refusal(edit, accounts, caller, made.id, ip_allowlist=()) == "VALIDATION_ERROR"
    assert refusal(edit, accounts, caller, made.id, expires_at=None) == "VALIDATION_ERROR"
    unlimited = create(accounts, person).token
    assert refusal(rotate, accounts, caller, unlimited.id) == "VALIDATION_ERROR"


def test_a_token_that_was_revoked_meanwhile_makes_nothing(accounts: Any, ann: User) -> None:
    person = signed_in(accounts)
    made = create(accounts, person, scopes=("*", "manage:tokens"))
    caller = caller_of(accounts, made)  # as the gateway's cache has it
    revoke(accounts, person, made.token.id)
    assert refusal(create, accounts, caller) == "TOKEN_REVOKED"


def test_a_scope_that_was_taken_away_meanwhile_is_not_given(accounts: Any, ann: User) -> None:
    person = signed_in(accounts)
    made = create(accounts, person, scopes=("*", "manage:tokens"))
    caller = caller_of(accounts, made)
    edit(accounts, person, made.token.id, scopes=("read:posts", "manage:tokens"))
    assert refusal(create, accounts, caller, scopes=("write:posts",)) == "MISSING_SCOPE"


def test_others_tokens_and_sessions_are_not_found(accounts: Any, ann: User) -> None:
    accounts.create_user(operator(), email="eve@example.com", password=PASSWORD)
    mine, eve = signed_in(accounts), signed_in(accounts, "eve@example.com")
    made = create(accounts, mine).token
    for caller, token_id in ((eve, made.id), (mine, mine.token_id), (mine, "tok_" + "0" * 26), (mine, "\0")):
        get = (tokens.get_token, caller, TokenId(token_id=token_id))
        assert refusal(accounts.call, *get) == "NOT_FOUND"
        for act in (rotate, revoke, edit):
            assert refusal(act, accounts, caller, token_id) == "NOT_FOUND"
    named = create(accounts, eve, user_id=ann.id)
    assert caller_of(accounts, named).account_id == eve.account_id


def test_a_token_for_brands_is_for_ones_own_and_cannot_manage(accounts: Any, ann: User) -> None:
    caller = signed_in(accounts)
    brand, foreign = accounts.brand(ann), accounts.brand(accounts.user())
    made = create(accounts, caller, brand_ids=(brand.id,))
    assert caller_of(accounts, made).brand_ids == (brand.id,)
    assert refusal(create, accounts, caller, brand_ids=(foreign.id,)) == "NOT_FOUND"
    assert (
        refusal(create, accounts, caller, brand_ids=(brand.id,), scopes=("manage:tokens",))
        == "VALIDATION_ERROR"
    )
    assert refusal(edit, accounts, caller, made.token.id, scopes=("manage:*",)) == "VALIDATION_ERROR"
    assert refusal(edit, accounts, caller, made.token.id, brand_ids=(foreign.id,)) == "NOT_FOUND"


def test_the_sandbox_token_and_ended_ones_cannot_be_changed(accounts: Any, ann: User) -> None:
    caller = signed_in(accounts)
    listed = accounts.call(tokens.list_tokens, caller, ListTokens()).tokens
    [sandbox] = [token for token in listed if token.sandbox]
    ended = create(accounts, caller).token
    revoke(accounts, caller, ended.id)
    for act in (rotate, edit):
        assert refusal(act, accounts, caller, sandbox.id) == "VALIDATION_ERROR"
        assert refusal(act, accounts, caller, ended.id) == "TOKEN_REVOKED"


def test_the_list_goes_on_by_its_cursor(accounts: Any, ann: User) -> None:
    caller = signed_in(accounts)
    made = [create(accounts, caller, name=str(number)).token.id for number in range(3)]
    first = accounts.call(tokens.list_tokens, caller, ListTokens(limit=2))
    rest = accounts.call(tokens.list_tokens, caller, ListTokens(limit=2, cursor=first.next_cursor))
    assert [token.id for token in first.tokens] == made[:0:-1]
    assert rest.tokens[0].id == made[0]
    assert (len(rest.tokens), rest.next_cursor) == (2, None)  # and the sandbox token


def test_a_repeated_change_is_answered_and_not_made_again(accounts: Any, ann: User) -> None:
    caller = replace(signed_in(accounts), operation_id="op_1")
    made = create(accounts, replace(caller, operation_id=None)).token
    edit(accounts, caller, made.id, name="first")
    edit(accounts, replace(caller, operation_id="op_2"), made.id, name="second")
    assert edit(accounts, caller, made.id, name="first").name == "second"


# -- collaborators -----------------------------------------------------------------------------------------------------


def test_a_collaborator_with_full_access_issues_manages_and_loses_tokens_of_the_brand(
    accounts: Any, ann: User
) -> None:
    owner = accounts.user(tier="elite")
    brand = accounts.brand(owner)
    caller = signed_in(accounts)
    assert refusal(create, accounts, caller, brand_ids=(brand.id,)) == "NOT_FOUND"
    accounts.collaborator(brand, ann, "limited")
    assert refusal(create, accounts, caller, brand_ids=(brand.id,)) == "COLLABORATOR_INSUFFICIENT"
    accounts.collaborator(brand, ann)
    made = create(accounts, caller, brand_ids=(brand.id,), scopes=("write:posts",))
    acting = caller_of(accounts, made)
    assert (acting.account_id, acting.user_id, acting.brand_ids) == (owner.id, ann.id, (brand.id,))
    assert made.token.id in {
        token.id for token in accounts.call(tokens.list_tokens, caller, ListTokens()).tokens
    }
    edit(accounts, caller, made.token.id, name="renamed")
    other = accounts.brand(owner)
    assert refusal(edit, accounts, caller, made.token.id, brand_ids=(other.id,)) == "VALIDATION_ERROR"
    rotated = rotate(accounts, caller, made.token.id)
    revoke(accounts, caller, rotated.token.id)
    assert accounts.actions(brand)[:4] == ["token.revoked", "token.rotated", "token.changed", "token.created"]
    assert (
        refusal(create, accounts, caller, brand_ids=(brand.id,), scopes=("manage:tokens",))
        == "VALIDATION_ERROR"
    )


def test_a_collaborator_who_lost_full_access_only_lists_and_revokes_the_tokens_made_with_it(
    accounts: Any, ann: User
) -> None:
    """A change or rotation would give the collaborator a token that they may no longer create."""
    brand = accounts.brand(accounts.user())
    accounts.collaborator(brand, ann)
    caller = signed_in(accounts)
    made, other = (create(accounts, caller, brand_ids=(brand.id,)).token for _ in range(2))
    accounts.collaborator(brand, ann, "limited")
    for changes in ({"name": "x"}, {"scopes": ("read:posts",)}, {"expires_at": None}, {"ip_allowlist": ()}):
        assert refusal(edit, accounts, caller, made.id, **changes) == "COLLABORATOR_INSUFFICIENT"
    assert refusal(rotate, accounts, caller, made.id) == "COLLABORATOR_INSUFFICIENT"
    assert made in accounts.call(tokens.list_tokens, caller, ListTokens()).tokens
    revoke(accounts, caller, made.id)
    accounts.collaborator(brand, ann)
    assert edit(accounts, caller, other.id, name="again").name == "again"


def test_an_owner_sees_and_revokes_a_collaborators_token_and_does_not_act_as_the_collaborator(
    accounts: Any, ann: User
) -> None:
    brand, helper = accounts.brand(ann), accounts.user()
    accounts.collaborator(brand, helper)
    issued = accounts.token(ann, brand_ids=(brand.id,), issued_by=helper.id)
    caller = signed_in(accounts)
    assert issued.token.id in {
        token.id for token in accounts.call(tokens.list_tokens, caller, ListTokens()).tokens
    }
    for act in (rotate, edit):
        assert refusal(act, accounts, caller, issued.token.id) == "VALIDATION_ERROR"
    revoke(accounts, caller, issued.token.id)
    assert refusal(accounts.authenticate, issued.api_token) == "TOKEN_REVOKED"


# -- the account -------------------------------------------------------------------------------------------------------


def test_a_person_changes_their_names_and_gateways_hear_of_it(accounts: Any, ann: User) -> None:
    caller = signed_in(accounts)
    changed = accounts.call(users.edit_profile, caller, EditProfile(firstname=" Ann "))
    assert (changed.firstname, changed.lastname) == ("Ann", "")
    assert {"token_ids": [], "account_ids": [ann.id]} in accounts.staged()
    assert accounts.call(users.edit_profile, caller, EditProfile()) == changed
    assert (
        refusal(accounts.call, users.edit_profile, caller, EditProfile(lastname="x" * 101))
        == "VALIDATION_ERROR"
    )


def test_a_person_chooses_the_zone_and_the_language_of_times(accounts: Any, ann: User) -> None:
    caller = signed_in(accounts)

    def edit(**fields: Any) -> User:
        changed: User = accounts.call(users.edit_profile, caller, EditProfile(**fields))
        return changed

    changed = edit(timezone="Europe/Berlin", language="DE-at")
    assert (changed.timezone, changed.language) == ("Europe/Berlin", "de-AT")
    assert edit(firstname="Ann").timezone == "Europe/Berlin"
    assert (edit(timezone=None).timezone, edit(language=None).language) == (None, None)
    for unknown in ({"timezone": "Berlin"}, {"timezone": ""}, {"language": "Deutsch"}, {"language": ""}):
        assert refusal(edit, **unknown) == "VALIDATION_ERROR"


def test_the_audit_log_shows_the_brands_of_the_account_alone(accounts: Any, ann: User) -> None:
    helper, owner = accounts.user(), accounts.user()
    brands = [accounts.brand(ann), accounts.brand(ann), accounts.brand(owner)]
    for brand in brands:
        accounts.collaborator(brand, helper)
    caller = signed_in(accounts)
    first = accounts.call(audit.list_audit, caller, ListAudit(limit=1))
    rest = accounts.call(audit.list_audit, caller, ListAudit(limit=1, cursor=first.next_cursor))
    assert [entry.brand_id for entry in (*first.entries, *rest.entries)] == [brands[1].id, brands[0].id]
    assert rest.next_cursor is None
    assert (rest.entries[0].actor_email, rest.entries[0].subject_email) == (None, helper.email)
    only = accounts.call(audit.list_audit, caller, ListAudit(brand_id=brands[0].id)).entries
    assert [entry.brand_id for entry in only] == [brands[0].id]
    for brand_id in (brands[2].id, "brd_" + "0" * 26, "\0"):
        assert refusal(accounts.call, audit.list_audit, caller, ListAudit(brand_id=brand_id)) == "NOT_FOUND"
