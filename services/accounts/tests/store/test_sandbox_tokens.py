"""A person's own session is shown the sandbox token of the account again; nobody else is."""

from typing import Any

import pytest
from msgspec.structs import replace

from accounts.tokens import tokens
from accounts.users import brand_sessions, sandbox_tokens, sessions
from contracts.accounts import CreatedUser, EnterBrand, ListTokens, LogIn, RevokeToken, Token
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.record import Nothing

PASSWORD = "correct horse"


class Owner:
    """Ann, who is signed in."""

    def __init__(self, accounts: Any) -> None:
        self.accounts = accounts
        self.created: CreatedUser = accounts.create_user(operator(), password=PASSWORD)
        self.session = self.signed_in("ann@example.com")

    def signed_in(self, email: str) -> Caller:
        """Returns the caller of a new session."""
        request = LogIn(email=email, password=PASSWORD, asker="192.0.2.1", user_agent="curl/8")
        made = sessions.log_in(self.accounts.database, self.accounts.config, request)
        return self.caller(made.session_token)

    def caller(self, token: str) -> Caller:
        return self.accounts.authenticate(token).caller

    def shown(self, caller: Caller | None = None, config: Any = None) -> str:
        config = config or self.accounts.config
        given = (config, caller or self.session, Nothing())
        return self.accounts.call(sandbox_tokens.get_sandbox_token, *given).sandbox_api_token

    def refusal(self, caller: Caller | None = None, config: Any = None) -> ApiError:
        with pytest.raises(ApiError) as caught:
            self.shown(caller, config)
        return caught.value

    def listed(self) -> Token:
        found = self.accounts.call(tokens.list_tokens, self.session, ListTokens()).tokens
        [sandbox] = [it for it in found if it.sandbox]
        return sandbox


@pytest.fixture
def owner(accounts: Any) -> Owner:
    return Owner(accounts)


def test_a_session_is_shown_the_token_of_the_sign_up_as_often_as_it_asks(owner: Owner) -> None:
    assert owner.shown() == owner.created.sandbox_api_token
    assert owner.shown() == owner.created.sandbox_api_token
    assert owner.caller(owner.shown()).sandbox


def test_another_account_is_shown_its_own(owner: Owner) -> None:
    other = owner.accounts.create_user(operator(), email="bob@example.com", password=PASSWORD)
    assert owner.shown(owner.signed_in("bob@example.com")) == other.sandbox_api_token
    assert other.sandbox_api_token != owner.created.sandbox_api_token


@pytest.mark.parametrize("scopes", [("manage:tokens",), ("*", "manage:*"), ("read:account",)])
def test_no_api_token_is_shown_it_whatever_its_scopes(owner: Owner, scopes: tuple[str, ...]) -> None:
    token = owner.accounts.token(owner.created.user, scopes=scopes)
    refused = owner.refusal(owner.caller(token.api_token))
    assert (refused.code, refused.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", "token")


def test_the_sandbox_token_is_not_shown_to_itself(owner: Owner) -> None:
    assert owner.refusal(owner.caller(owner.created.sandbox_api_token)).code == "VALIDATION_ERROR"


@pytest.mark.parametrize("role", ["full", "limited"])
def test_a_collaborators_session_on_the_brand_is_not_shown_the_owners(owner: Owner, role: str) -> None:
    accounts = owner.accounts
    bob = accounts.create_user(operator(), email="bob@example.com", password=PASSWORD).user
    brand = accounts.brand(owner.created.user)
    accounts.collaborator(brand, bob, role)
    entered = accounts.call(
        brand_sessions.enter_brand, owner.signed_in(bob.email), EnterBrand(brand_id=brand.id)
    )
    assert owner.refusal(owner.caller(entered.session_token)).code == "COLLABORATOR_INSUFFICIENT"


def test_a_revoked_one_is_not_found(owner: Owner) -> None:
    owner.accounts.call(tokens.revoke_token, owner.session, RevokeToken(token_id=owner.listed().id))
    assert owner.refusal().code == "NOT_FOUND"


def test_after_a_change_of_the_secret_it_is_not_found_but_still_works(owner: Owner) -> None:
    """The new secret derives another token, which nobody could use."""
    changed = replace(owner.accounts.config, token_secret="another secret for tests, as long")
    assert owner.refusal(config=changed).code == "NOT_FOUND"
    assert owner.caller(owner.created.sandbox_api_token).sandbox


def test_showing_it_changes_nothing(owner: Owner) -> None:
    before = owner.listed()
    owner.shown()
    assert owner.listed() == before
