"""Nobody can give a token more rights than they have themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.tokens import rights
from contracts.accounts import Token
from contracts.caller import Caller
from contracts.errors import ApiError

NOW = datetime(2027, 1, 1, tzinfo=UTC)
GIVEN: dict[str, Any] = {"scopes": ("read:posts",), "ip_allowlist": (), "expires_at": None}


def check(held: tuple[str, ...], own: dict[str, Any] | None = None, **given: Any) -> None:
    token = Token(id="tok_1", name="", prefix="svc_live_abc", scopes=held, **own or {})
    caller = Caller(account_id="usr_1", user_id="usr_1", token_id="tok_1", scopes=held)
    rights.check_within(caller, token, GIVEN | given)


def refusal(*args: Any, **values: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        check(*args, **values)
    return caught.value


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (("*",), "manage:tokens"),
        (("*",), "manage:*"),
        (("*", "manage:tokens"), "manage:account"),
        (("*", "manage:tokens"), "manage:*"),
        (("manage:*",), "*"),
        (("manage:*",), "write:posts"),
        (("manage:tokens", "read:posts"), "write:posts"),
    ],
)
def test_a_scope_that_the_token_lacks_is_not_given(held: tuple[str, ...], given: str) -> None:
    error = refusal(held, scopes=("read:posts", given) if "*" in held or "read:posts" in held else (given,))
    assert (error.code, error.extras["required_scope"]) == ("MISSING_SCOPE", given)


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (("*", "manage:tokens"), ("*",)),
        (("*", "manage:tokens"), ("write:posts", "manage:webhooks", "manage:tokens")),
        (("manage:*",), ("manage:tokens", "manage:webhooks")),
        (("*", "manage:*"), ("*", "manage:*")),
    ],
)
def test_scopes_that_the_token_has_are_given(held: tuple[str, ...], given: tuple[str, ...]) -> None:
    check(held, scopes=given)


@pytest.mark.parametrize(
    ("own", "given", "fits"),
    [
        (("10.0.0.0/8",), ("10.1.2.3",), True),
        (("10.0.0.0/8", "2001:db8::/32"), ("2001:db8:1::/48", "10.0.0.0/8"), True),
        (("10.0.0.0/8",), (), False),
        (("10.0.0.0/8",), ("10.1.2.3", "11.0.0.1"), False),
        (("10.0.0.0/8",), ("10.0.0.0/7",), False),
        (("10.0.0.0/8",), ("::/0",), False),
        ((), ("192.0.2.1",), True),
    ],
)
def test_addresses_stay_within_the_tokens_own(
    own: tuple[str, ...], given: tuple[str, ...], fits: bool
) -> None:
    limits = {"ip_allowlist": own}
    if fits:
        check(("*",), limits, ip_allowlist=given)
    else:
        assert "ip_allowlist" in str(refusal(("*",), limits, ip_allowlist=given).extras)


@pytest.mark.parametrize(
    ("given", "fits"),
    [(NOW, True), (NOW - timedelta(days=1), True), (NOW + timedelta(milliseconds=1), False), (None, False)],
)
def test_no_token_outlives_the_one_that_makes_it(given: datetime | None, fits: bool) -> None:
    limits = {"expires_at": NOW}
    if fits:
        check(("*",), limits, expires_at=given)
    else:
        assert "expires_at" in str(refusal(("*",), limits, expires_at=given).extras)


def test_a_session_gives_tokens_without_its_own_end() -> None:
    check(("*", "manage:*"), {"session": True, "expires_at": NOW})
    assert (
        rights.defaults(Token(id="ses_1", name="", prefix="", scopes=(), session=True, expires_at=NOW)) == {}
    )
