"""The scopes of tokens, passwords, and settings of the service."""

import pytest
from argon2 import PasswordHasher

from accounts.config import AccountsConfig
from accounts.tokens.scopes import SANDBOX_SCOPES, SCOPES, check_scopes
from accounts.users.passwords import hash_password
from chassis.config import ConfigError
from contracts.caller import ACCOUNT_SCOPES, EVERY_MANAGE_SCOPE
from contracts.errors import ApiError


@pytest.mark.parametrize("scopes", [(), ("operator",), ("read:everything",), ("",), ("READ:POSTS",)])
def test_no_token_can_hold_an_unknown_scope(scopes: tuple[str, ...]) -> None:
    with pytest.raises(ApiError) as caught:
        check_scopes(scopes, brand_ids=())
    assert caught.value.code == "VALIDATION_ERROR"


def test_scopes_keep_their_order_and_lose_repetitions() -> None:
    given = ("write:posts", "read:posts", "write:posts", "*")
    assert check_scopes(given, brand_ids=()) == ("write:posts", "read:posts", "*")
    assert check_scopes(SCOPES, brand_ids=()) == SCOPES


def test_a_sandbox_token_can_only_read() -> None:
    assert all(scope.startswith("read:") and scope in SCOPES for scope in SANDBOX_SCOPES)


def test_a_password_is_hashed_with_argon2id() -> None:
    hashed = hash_password("correct horse battery")
    assert hashed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert PasswordHasher().verify(hashed, "correct horse battery")


def test_a_short_token_secret_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_SECRET", "short")
    with pytest.raises(ConfigError, match="TOKEN_SECRET"):
        AccountsConfig.from_env()


@pytest.mark.parametrize("scope", [*ACCOUNT_SCOPES, EVERY_MANAGE_SCOPE])
def test_a_token_for_single_brands_cannot_manage_the_account(scope: str) -> None:
    assert check_scopes([scope], brand_ids=()) == (scope,)
    with pytest.raises(ApiError) as caught:
        check_scopes(["read:posts", scope], brand_ids=("brd_1",))
    assert caught.value.extras["errors"][0]["field"] == "scopes"


def test_a_token_for_single_brands_may_have_everything_else() -> None:
    scopes = ("*", "manage:webhooks")
    assert check_scopes(scopes, brand_ids=("brd_1",)) == scopes
