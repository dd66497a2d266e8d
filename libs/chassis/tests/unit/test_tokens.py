"""The form of API tokens."""

from hypothesis import given
from hypothesis import strategies as st

from chassis.tokens import LIVE_PREFIX, SANDBOX_PREFIX, hash_token, looks_valid, make_token

PREFIXES = (LIVE_PREFIX, SANDBOX_PREFIX, "sk_live_")
secrets = st.binary(min_size=32, max_size=32)


@given(secrets, st.sampled_from(PREFIXES))
def test_every_token_we_make_looks_valid_and_has_one_length(secret: bytes, prefix: str) -> None:
    token = make_token(prefix, secret)
    assert looks_valid(token, PREFIXES)
    assert len(token) == len(prefix) + 43 + 6


@given(secrets, st.data())
def test_a_single_wrong_character_is_noticed(secret: bytes, data: st.DataObject) -> None:
    token = make_token(LIVE_PREFIX, secret)
    place = data.draw(st.integers(len(LIVE_PREFIX), len(token) - 1))
    other = data.draw(st.characters().filter(lambda character: character != token[place]))
    assert not looks_valid(token[:place] + other + token[place + 1 :], PREFIXES)


@given(st.text())
def test_no_made_up_token_is_ever_an_error(text: str) -> None:
    assert not looks_valid(text, PREFIXES)
    assert not looks_valid(LIVE_PREFIX + text, PREFIXES)


def test_a_live_secret_under_the_sandbox_prefix_is_malformed() -> None:
    token = make_token(LIVE_PREFIX)
    assert not looks_valid(SANDBOX_PREFIX + token.removeprefix(LIVE_PREFIX), PREFIXES)


def test_a_prefix_that_is_not_configured_is_refused() -> None:
    assert not looks_valid(make_token("sk_live_"), (LIVE_PREFIX, SANDBOX_PREFIX))


def test_fresh_tokens_differ_and_a_given_secret_makes_the_same_token_again() -> None:
    assert make_token(LIVE_PREFIX) != make_token(LIVE_PREFIX)
    assert make_token(LIVE_PREFIX, bytes(32))[:-6] == LIVE_PREFIX + "0" * 43


def test_the_hash_is_sha256_in_hex() -> None:
    assert hash_token("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
