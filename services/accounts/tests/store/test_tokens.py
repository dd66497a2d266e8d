"""Tokens in PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from accounts.tokens import authentication, tokens
from chassis.db import clock
from contracts.accounts import RecordUse, SetTokenUse, TokenId, TokenUse
from contracts.caller import operator
from contracts.errors import ApiError


def refusal(function: Any, *args: Any, **values: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value


def test_a_token_works_from_the_moment_it_is_made(accounts: Any) -> None:
    ann = accounts.user()
    brand = accounts.brand(ann)
    made = accounts.token(ann, name="CI", brand_ids=(brand.id,), ip_allowlist=("10.0.0.0/8",))
    found = accounts.authenticate(made.api_token)
    assert made.api_token.startswith("svc_live_")
    assert made.token.prefix == made.api_token[:12]
    assert found.token == made.token
    assert (found.caller.token_id, found.caller.brand_ids) == (made.token.id, (brand.id,))
    assert (found.token.name, found.token.ip_allowlist) == ("CI", ("10.0.0.0/8",))


def test_a_legacy_token_has_the_configured_prefix(accounts: Any) -> None:
    made = accounts.token(accounts.user(), legacy=True)
    assert made.api_token.startswith("sk_live_")
    assert accounts.authenticate(made.api_token).token == made.token


@pytest.mark.parametrize("sha256", ["0" * 64, "", "\0" * 64, "x" * 64, "A" * 64])
def test_an_unknown_or_malformed_hash_is_an_invalid_token(accounts: Any, sha256: str) -> None:
    request = authentication.Authenticate(token_sha256=sha256)
    assert refusal(accounts.call, authentication.authenticate, request).code == "INVALID_TOKEN"


def test_another_accounts_brand_cannot_be_given_to_a_token(accounts: Any) -> None:
    eves = accounts.brand(accounts.user())
    error = refusal(accounts.token, accounts.user(), brand_ids=(eves.id,))
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "brand_ids"})


def test_the_eleventh_active_key_of_a_free_account_is_one_too_many(accounts: Any) -> None:
    ann = accounts.user()
    made = [accounts.token(ann) for _ in range(10)]
    assert refusal(accounts.token, ann).code == "LIMIT_REACHED"
    accounts.revoke(made[0])
    assert accounts.token(ann)


def test_an_expired_key_is_not_active(accounts: Any) -> None:
    ann = accounts.user()
    soon = accounts.call(clock.now) + timedelta(hours=1)
    for _ in range(10):
        accounts.token(ann, expires_at=soon)
    accounts.shift_clock(3600)
    assert accounts.token(ann)


def test_twenty_simultaneous_requests_fill_the_keys_exactly(accounts: Any) -> None:
    ann = accounts.user()

    def outcome(_: int) -> str:
        try:
            return accounts.token(ann).token.name
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(outcome, range(20)))
    assert sorted(outcomes) == [""] * 10 + ["LIMIT_REACHED"] * 10


def test_a_token_expires_by_the_shared_clock(accounts: Any) -> None:
    made = accounts.token(accounts.user(), expires_at=accounts.call(clock.now) + timedelta(days=30))
    assert accounts.authenticate(made.api_token)
    accounts.shift_clock(timedelta(days=30).total_seconds())
    assert refusal(accounts.authenticate, made.api_token).code == "TOKEN_EXPIRED"


def test_a_revoked_token_is_refused_and_gateways_are_told_once(accounts: Any) -> None:
    made = accounts.token(accounts.user())
    revoked = accounts.revoke(made)
    assert refusal(accounts.authenticate, made.api_token).code == "TOKEN_REVOKED"
    assert accounts.revoke(made) == revoked
    assert accounts.staged() == [{"token_ids": [made.token.id], "account_ids": []}]


def test_rotation_keeps_rights_and_expiry_and_ends_the_old_token(accounts: Any) -> None:
    expires_at = accounts.call(clock.now) + timedelta(days=30)
    old = accounts.token(accounts.user(), name="CI", ip_allowlist=("10.0.0.1",), expires_at=expires_at)
    new = accounts.rotate(old)
    assert refusal(accounts.authenticate, old.api_token).code == "TOKEN_REVOKED"
    found = accounts.authenticate(new.api_token).token
    assert found.id != old.token.id
    assert (found.name, found.scopes, found.ip_allowlist, found.expires_at) == (
        "CI",
        old.token.scopes,
        ("10.0.0.1",),
        expires_at,
    )
    assert accounts.staged() == [{"token_ids": [old.token.id], "account_ids": []}]


def test_rotation_works_with_all_keys_in_use(accounts: Any) -> None:
    ann = accounts.user()
    made = [accounts.token(ann) for _ in range(10)]
    assert accounts.rotate(made[3])


def test_what_no_longer_works_is_not_rotated(accounts: Any) -> None:
    ann = accounts.user()
    revoked = accounts.token(ann)
    expiring = accounts.token(ann, expires_at=accounts.call(clock.now) + timedelta(hours=1))
    accounts.revoke(revoked)
    accounts.shift_clock(3600)
    assert refusal(accounts.rotate, revoked).code == "TOKEN_REVOKED"
    assert refusal(accounts.rotate, expiring).code == "TOKEN_EXPIRED"


def test_a_sandbox_token_is_not_rotated(accounts: Any) -> None:
    sandbox = accounts.authenticate(accounts.sign_up(operator()).sandbox_api_token)
    assert refusal(accounts.rotate, sandbox).code == "VALIDATION_ERROR"


def test_a_repeated_operation_shows_the_same_token_again(accounts: Any) -> None:
    ann = accounts.user()
    made = accounts.token(ann, operation_id="op_1", legacy=True)
    assert accounts.token(ann, operation_id="op_1", legacy=True) == made
    assert refusal(accounts.token, accounts.user(), operation_id="op_1").code == "IDEMPOTENCY_KEY_MISMATCH"


def test_uses_are_added_up_over_batches(accounts: Any) -> None:
    ann = accounts.user()
    first, second = accounts.token(ann).token, accounts.token(ann).token
    noon = datetime(2027, 1, 1, 12, tzinfo=UTC)
    one = TokenUse(token_id=first.id, count=3, last_used_at=noon)
    late = TokenUse(token_id=first.id, count=2, last_used_at=noon - timedelta(minutes=1))
    unknown = TokenUse(token_id="tok_\0", count=2, last_used_at=noon)
    accounts.call(authentication.record_use, RecordUse(uses=(one, late, unknown)))
    accounts.call(authentication.record_use, RecordUse(uses=(late,)))
    accounts.call(authentication.record_use, RecordUse(uses=()))
    found = accounts.call(tokens.get_token, operator(), TokenId(token_id=first.id))
    assert (found.request_count, found.last_used_at) == (7, noon)
    untouched = accounts.call(tokens.get_token, operator(), TokenId(token_id=second.id))
    assert (untouched.request_count, untouched.last_used_at) == (0, None)


def test_batches_of_several_gateways_do_not_deadlock(accounts: Any) -> None:
    ann = accounts.user(tier="elite")
    ids = [accounts.token(ann).token.id for _ in range(20)]
    noon = datetime(2027, 1, 1, 12, tzinfo=UTC)
    uses = [TokenUse(token_id=token_id, count=1, last_used_at=noon) for token_id in ids]
    batches = [RecordUse(uses=tuple(uses if n % 2 else reversed(uses))) for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda batch: accounts.call(authentication.record_use, batch), batches))
    assert accounts.call(tokens.get_token, operator(), TokenId(token_id=ids[0])).request_count == 40


def test_the_operator_sets_the_request_count(accounts: Any) -> None:
    token = accounts.token(accounts.user()).token
    request = SetTokenUse(token_id=token.id, count=99)
    assert accounts.call(tokens.set_token_use, operator(), request).request_count == 99
    too_many = SetTokenUse(token_id=token.id, count=2**63)
    assert refusal(accounts.call, tokens.set_token_use, operator(), too_many).code == "VALIDATION_ERROR"


def test_a_repeated_count_does_not_undo_later_uses(accounts: Any) -> None:
    token = accounts.token(accounts.user()).token
    request, caller = SetTokenUse(token_id=token.id, count=99), replace(operator(), operation_id="op_1")
    accounts.call(tokens.set_token_use, caller, request)
    use = TokenUse(token_id=token.id, count=1, last_used_at=datetime(2027, 1, 1, 12, tzinfo=UTC))
    accounts.call(authentication.record_use, RecordUse(uses=(use,)))
    assert accounts.call(tokens.set_token_use, caller, request).request_count == 100
