"""Which callers are the operator."""

import pytest

from contracts.caller import ACCOUNT_SCOPES, Caller, operator
from contracts.errors import ApiError


def test_a_token_with_every_scope_is_not_the_operator() -> None:
    operator().check_operator()
    with pytest.raises(ApiError) as caught:
        Caller(account_id="usr_1", user_id="usr_1", scopes=("*",)).check_operator()
    assert caught.value.code == "MISSING_SCOPE"
    assert caught.value.extras == {"required_scope": "operator", "your_scopes": ["*"]}


def holder(*scopes: str) -> Caller:
    return Caller(account_id="usr_1", user_id="usr_1", scopes=scopes)


@pytest.mark.parametrize("scope", [*ACCOUNT_SCOPES, "manage:*"])
def test_every_scope_does_not_include_managing_the_account(scope: str) -> None:
    assert not holder("*").has_scope(scope)
    assert holder("manage:*").has_scope(scope)
    assert holder(scope).has_scope(scope)
    assert not holder(*({*ACCOUNT_SCOPES} - {scope})).has_scope(scope)


def test_manage_everything_includes_webhooks_and_nothing_that_is_not_managed() -> None:
    assert holder("manage:*").has_scope("manage:webhooks")
    assert holder("*").has_scope("manage:webhooks")
    for scope in ("*", "read:posts", "write:posts", "operator"):
        assert not holder("manage:*").has_scope(scope)
