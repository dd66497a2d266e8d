"""Signing in with a password, and the session that the person gets."""

import os
import statistics
import time
from typing import Any

import pytest
from msgspec.structs import replace

from accounts.tokens import authentication, tokens
from accounts.users import passwords, sessions, verification
from chassis.tokens import hash_token
from contracts.accounts import (
    Authenticate,
    ListSessions,
    ListTokens,
    LoggedIn,
    LogIn,
    RecordUse,
    SessionId,
    TokenUse,
    UserId,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.record import Nothing

PASSWORD = "correct horse"
DAY = 86_400.0
GUESSES = 10_000 if os.environ.get("FULL_SIZE") else 1_000


@pytest.fixture
def ann(accounts: Any) -> Any:
    return accounts.create_user(operator(), password=PASSWORD).user


def log_in(
    accounts: Any, password: str = PASSWORD, email: str = "ann@example.com", asker: str = "192.0.2.1"
) -> LoggedIn:
    request = LogIn(email=email, password=password, asker=asker, user_agent="curl/8", address="192.0.2.1")
    return sessions.log_in(accounts.database, accounts.config, request)


def refusal(function: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value.code


def caller_of(accounts: Any, made: LoggedIn) -> Caller:
    return accounts.authenticate(made.session_token).caller


def listed(accounts: Any, made: LoggedIn) -> list[str]:
    found = accounts.call(sessions.list_sessions, caller_of(accounts, made), ListSessions())
    return [session.id for session in found.sessions]


def use(accounts: Any, made: LoggedIn) -> None:
    now = accounts.call(
        lambda connection: authentication.TokenStore(connection).credential(hash_token(made.session_token))
    ).now
    batch = RecordUse(uses=(TokenUse(token_id=made.session.id, count=1, last_used_at=now),))
    accounts.call(authentication.record_use, batch)


# -- signing in --------------------------------------------------------------------------------------------------------


def test_a_session_acts_for_the_whole_account_and_may_manage_it(accounts: Any, ann: Any) -> None:
    made = log_in(accounts, email="ANN@example.com")
    caller = caller_of(accounts, made)
    assert made.session_token.startswith("svc_sess_")
    assert (caller.account_id, caller.user_id, caller.brand_ids) == (ann.id, ann.id, None)
    assert all(caller.has_scope(scope) for scope in ("write:posts", "manage:webhooks", "manage:tokens"))
    assert (made.session.user_agent, made.session.address) == ("curl/8", "192.0.2.1")


def test_a_wrong_password_an_unknown_address_and_an_account_without_password_are_refused_alike(
    accounts: Any, ann: Any
) -> None:
    accounts.create_user(operator(), email="bob@example.com")
    errors = []
    for email in ("ann@example.com", "nobody@example.com", "bob@example.com"):
        with pytest.raises(ApiError) as caught:
            log_in(accounts, "wrong", email)
        errors.append((caught.value.code, caught.value.message, caught.value.extras))
    assert {*map(str, errors)} == {str(errors[0])}
    assert errors[0][0] == "INVALID_CREDENTIALS"


def test_an_unverified_account_is_signed_in_by_nobody_and_only_the_right_password_is_told_why(
    accounts: Any,
) -> None:
    made = accounts.sign_up(Caller(account_id="", user_id=""), password=PASSWORD)
    assert refusal(log_in, accounts, "wrong") == "INVALID_CREDENTIALS"
    assert refusal(log_in, accounts) == "EMAIL_NOT_VERIFIED"
    accounts.call(verification.verify_user, operator(), UserId(user_id=made.user.id))
    assert log_in(accounts)


def test_a_session_is_stored_as_a_hash(accounts: Any, ann: Any) -> None:
    made = log_in(accounts)
    rows = accounts.call(lambda c: c.exec_driver_sql("SELECT tokens::text FROM tokens").scalars().all())
    assert not any(made.session_token in row for row in rows)
    assert any(hash_token(made.session_token) in row for row in rows)


def test_a_session_is_no_api_token_of_the_account(accounts: Any, ann: Any) -> None:
    made = log_in(accounts)
    found = accounts.call(tokens.list_tokens, operator(), ListTokens(user_id=ann.id)).tokens
    assert [token.sandbox for token in found] == [True]
    request = Authenticate(token_sha256=hash_token(made.session_token))
    assert accounts.call(authentication.authenticate, request).token.session


# -- guesses -----------------------------------------------------------------------------------------------------------


def test_of_thousands_of_guesses_a_hundred_are_compared_however_many_networks_they_come_from(
    accounts: Any, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    monkeypatch.setattr(passwords, "matches", lambda _, password: compared.append(password))
    answers = [
        refusal(log_in, accounts, f"guess {number}", asker=f"198.51.{number % 100}.0")
        for number in range(GUESSES)
    ]
    assert len(compared) == 100
    assert answers.count("INVALID_CREDENTIALS") == 100
    assert answers.count("RATE_LIMITED") == GUESSES - 100


def test_one_network_has_twenty_guesses_at_an_address_and_does_not_lock_the_owner_out(
    accounts: Any, ann: Any
) -> None:
    codes = [refusal(log_in, accounts, "wrong", asker="198.51.100.7") for _ in range(21)]
    assert codes == ["INVALID_CREDENTIALS"] * 20 + ["RATE_LIMITED"]
    assert refusal(log_in, accounts, asker="198.51.100.7") == "RATE_LIMITED"
    assert log_in(accounts, asker="192.0.2.1")


def test_a_network_that_tries_many_addresses_is_stopped_and_known_and_unknown_ones_count_alike(
    accounts: Any, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "matches", lambda *_: False)
    codes = [refusal(log_in, accounts, email=f"user{number}@example.com") for number in range(101)]
    assert codes == ["INVALID_CREDENTIALS"] * 100 + ["RATE_LIMITED"]
    assert refusal(log_in, accounts) == "RATE_LIMITED"
    unknown = [refusal(log_in, accounts, email="no@example.com", asker=f"198.51.{n}.0") for n in range(101)]
    assert unknown == ["INVALID_CREDENTIALS"] * 100 + ["RATE_LIMITED"]


def test_signing_in_often_is_no_failure(accounts: Any, ann: Any) -> None:
    for _ in range(25):
        log_in(accounts)
    assert refusal(log_in, accounts, "wrong") == "INVALID_CREDENTIALS"


def test_an_unknown_address_takes_as_long_as_a_wrong_password(accounts: Any, ann: Any) -> None:
    """Both sign-ins compute one password hash, so the response time does not tell whether the address has an
    account.
    """

    def seconds(email: str) -> float:
        begin = time.perf_counter()
        assert refusal(log_in, accounts, "wrong", email, asker=str(begin)) == "INVALID_CREDENTIALS"
        return time.perf_counter() - begin

    seconds("warm@example.com")
    pairs = [(seconds("ann@example.com"), seconds(f"no{number}@example.com")) for number in range(20)]
    known, unknown = (statistics.median(times) for times in zip(*pairs, strict=True))
    assert abs(known - unknown) < known / 2, (known, unknown)


def test_a_password_that_changes_while_it_is_compared_begins_no_session(
    accounts: Any, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def matches(password_hash: str, _: str) -> bool:
        accounts.call(lambda c: c.exec_driver_sql("UPDATE users SET password_hash = 'another'"))
        return True

    monkeypatch.setattr(passwords, "matches", matches)
    assert refusal(log_in, accounts) == "INVALID_CREDENTIALS"


# -- a session's life --------------------------------------------------------------------------------------------------


def test_a_session_ends_thirty_days_after_its_last_use(accounts: Any, ann: Any) -> None:
    made, unused = log_in(accounts), log_in(accounts)
    accounts.shift_clock(20 * DAY)
    use(accounts, made)
    accounts.shift_clock(31 * DAY)
    assert accounts.authenticate(made.session_token)
    assert refusal(accounts.authenticate, unused.session_token) == "TOKEN_EXPIRED"
    accounts.shift_clock(50 * DAY + 60)
    assert refusal(accounts.authenticate, made.session_token) == "TOKEN_EXPIRED"
    use(accounts, made)
    assert refusal(accounts.authenticate, made.session_token) == "TOKEN_EXPIRED"


def test_the_expiry_is_written_at_most_once_a_day(accounts: Any, ann: Any) -> None:
    made = log_in(accounts)
    accounts.shift_clock(DAY / 2)
    use(accounts, made)
    assert accounts.authenticate(made.session_token).token.expires_at == made.session.expires_at
    accounts.shift_clock(DAY * 1.5)
    use(accounts, made)
    assert accounts.authenticate(made.session_token).token.expires_at > made.session.expires_at


def test_the_use_of_an_api_token_moves_no_expiry(accounts: Any, ann: Any) -> None:
    made = accounts.token(ann)
    accounts.call(
        authentication.record_use,
        RecordUse(uses=(TokenUse(token_id=made.token.id, count=1, last_used_at=ann.created_at),)),
    )
    assert accounts.authenticate(made.api_token).token.expires_at is None


def test_a_stolen_session_ends_with_the_logout(accounts: Any, ann: Any) -> None:
    made, other = log_in(accounts), log_in(accounts)
    caller = caller_of(accounts, made)
    assert accounts.call(sessions.log_out, caller, Nothing()).id == made.session.id
    assert refusal(accounts.authenticate, made.session_token) == "TOKEN_REVOKED"
    assert {"token_ids": [made.session.id], "account_ids": []} in accounts.staged()
    assert accounts.call(sessions.log_out, caller, Nothing()).success  # a repeat of a lost answer
    assert accounts.authenticate(other.session_token)


def test_an_api_token_cannot_sign_out(accounts: Any, ann: Any) -> None:
    caller = accounts.authenticate(accounts.token(ann).api_token).caller
    assert refusal(accounts.call, sessions.log_out, caller, Nothing()) == "VALIDATION_ERROR"


def test_sessions_are_listed_and_ended_one_by_one(accounts: Any, ann: Any) -> None:
    first, second = log_in(accounts), log_in(accounts)
    assert listed(accounts, first) == [second.session.id, first.session.id]
    found = accounts.call(sessions.list_sessions, caller_of(accounts, first), ListSessions()).sessions
    assert [session.current for session in found] == [False, True]
    for _ in range(2):
        ended = accounts.call(
            sessions.end_session, caller_of(accounts, first), SessionId(id=second.session.id)
        )
        assert ended.success
    assert refusal(accounts.authenticate, second.session_token) == "TOKEN_REVOKED"
    assert listed(accounts, first) == [first.session.id]


def test_the_list_of_sessions_has_pages(accounts: Any, ann: Any) -> None:
    made = [log_in(accounts).session.id for _ in range(5)]
    caller = caller_of(accounts, log_in(accounts))
    found, cursor = list[str](), None
    while True:
        page = accounts.call(sessions.list_sessions, caller, ListSessions(limit=2, cursor=cursor))
        assert len(page.sessions) <= 2
        found += [session.id for session in page.sessions]
        if (cursor := page.next_cursor) is None:
            break
    assert found == [caller.token_id, *made[::-1]]
    whole = accounts.call(sessions.list_sessions, caller, ListSessions())
    assert ([it.id for it in whole.sessions], whole.next_cursor) == (found, None)


def test_nobody_ends_anothers_session_or_an_api_token_as_one(accounts: Any, ann: Any) -> None:
    made, token = log_in(accounts), accounts.token(ann)
    accounts.create_user(operator(), email="eve@example.com", password=PASSWORD)
    eve = caller_of(accounts, log_in(accounts, email="eve@example.com"))
    for caller, session_id in (
        (eve, made.session.id),
        (caller_of(accounts, made), token.token.id),
        (eve, "ses_" + "0" * 26),
        (eve, "\0"),
    ):
        assert refusal(accounts.call, sessions.end_session, caller, SessionId(id=session_id)) == "NOT_FOUND"
    assert accounts.authenticate(made.session_token)
    assert accounts.authenticate(token.api_token)


def test_a_collaborators_token_manages_no_sessions(accounts: Any, ann: Any) -> None:
    caller = replace(caller_of(accounts, log_in(accounts)), user_id="usr_helper")
    assert (
        refusal(accounts.call, sessions.list_sessions, caller, ListSessions()) == "COLLABORATOR_INSUFFICIENT"
    )


def test_the_oldest_of_too_many_sessions_ends(
    accounts: Any, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 2)
    made = [log_in(accounts) for _ in range(3)]
    assert refusal(accounts.authenticate, made[0].session_token) == "TOKEN_REVOKED"
    assert listed(accounts, made[1]) == [made[2].session.id, made[1].session.id]


def test_sessions_that_ended_are_forgotten_after_a_day_and_others_stay(accounts: Any, ann: Any) -> None:
    ended, kept = log_in(accounts), log_in(accounts)
    accounts.call(sessions.log_out, caller_of(accounts, ended), Nothing())
    assert accounts.call(sessions.forget) == 0
    accounts.shift_clock(DAY + 60)
    assert accounts.call(sessions.forget) == 1
    assert refusal(accounts.authenticate, ended.session_token) == "INVALID_TOKEN"
    assert accounts.authenticate(kept.session_token)
