"""Tokens and codes that are derived from a secret, because a repeated request must get the same ones again."""

from accounts import derived_secrets
from accounts.config import AccountsConfig
from chassis.tokens import looks_valid

CONFIG = AccountsConfig(token_secret="s" * 32, legacy_token_prefix="sk_live_")


def test_a_repeated_operation_makes_the_same_token_and_another_one_another() -> None:
    token = derived_secrets.live_token(CONFIG, "op_1")
    assert token == derived_secrets.live_token(CONFIG, "op_1")
    assert token != derived_secrets.live_token(CONFIG, "op_2")


def test_without_an_operation_every_token_is_new() -> None:
    assert derived_secrets.live_token(CONFIG, None) != derived_secrets.live_token(CONFIG, None)


def test_a_sandbox_token_cannot_be_had_by_naming_an_operation_like_an_account() -> None:
    sandbox = derived_secrets.sandbox_token(CONFIG, "usr_1")
    assert sandbox == derived_secrets.sandbox_token(CONFIG, "usr_1")
    assert sandbox[-49:-6] != derived_secrets.live_token(CONFIG, "usr_1")[-49:-6]


def test_another_secret_makes_other_tokens() -> None:
    other = AccountsConfig(token_secret="t" * 32, legacy_token_prefix="sk_live_")
    assert derived_secrets.sandbox_token(other, "usr_1") != derived_secrets.sandbox_token(CONFIG, "usr_1")


def test_each_kind_has_its_prefix_and_form() -> None:
    assert looks_valid(derived_secrets.live_token(CONFIG, None), ["svc_live_"])
    assert looks_valid(derived_secrets.live_token(CONFIG, None, legacy=True), ["sk_live_"])
    assert looks_valid(derived_secrets.sandbox_token(CONFIG, "usr_1"), ["svc_test_"])
