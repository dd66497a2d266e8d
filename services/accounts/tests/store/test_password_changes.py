"""A link resets a forgotten password once. Every change of the password ends sessions."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from accounts.config import SmtpConfig
from accounts.users import mails, password_changes, passwords, sessions, verification
from contracts.accounts import (
    ChangePassword,
    LoggedIn,
    LogIn,
    MakeResetLink,
    RequestReset,
    ResetLink,
    ResetPassword,
    UserId,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError

SMTP = SmtpConfig(
    host="mail.example", port=25, security="none", username="", password="", sender="p@example.com"
)
HOUR = 3_600.0


@pytest.fixture
def ann(accounts: Any) -> Any:
    return accounts.create_user(operator(), password="the old one").user


@pytest.fixture
def sent(accounts: Any) -> Any:
    """Sends the due mails; returns them as (recipient, link)."""

    def send() -> list[tuple[str, str]]:
        taken: list[tuple[str, str]] = []

        def take(_: SmtpConfig, mail: Any) -> None:
            [link] = [line for line in mail.get_content().splitlines() if line.startswith("http")]
            taken.append((mail["To"], link))

        while mails.send_next(accounts.database, replace(accounts.config, smtp=SMTP), take):
            pass
        return taken

    return send


def refusal(function: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value.code


def ask(accounts: Any, email: str = "ann@example.com", asker: str = "192.0.2.1") -> None:
    password_changes.request_reset(accounts.database, accounts.config, RequestReset(email=email, asker=asker))


def made_link(accounts: Any) -> str:
    request = MakeResetLink(email="ann@example.com")
    return accounts.call(password_changes.make_reset_link, accounts.config, operator(), request).link


def parts(link: str) -> dict[str, str]:
    _, auth, reset, reset_id, code = urlsplit(link).path.split("/")
    assert (auth, reset) == ("auth", "reset")
    return {"reset_id": reset_id, "code": code}


def reset(accounts: Any, link: str, password: str = "the new one") -> str:
    request = ResetPassword(**parts(link), password=password)
    return password_changes.reset_password(accounts.database, accounts.config, request).email


def log_in(accounts: Any, password: str, asker: str = "192.0.2.1") -> LoggedIn:
    request = LogIn(email="ann@example.com", password=password, asker=asker)
    return sessions.log_in(accounts.database, accounts.config, request)


def change(accounts: Any, made: LoggedIn, current: str, new: str, operation_id: str | None = None) -> Any:
    caller = replace(accounts.authenticate(made.session_token).caller, operation_id=operation_id)
    request = ChangePassword(current_password=current, new_password=new)
    return password_changes.change_password(accounts.database, caller, request)


def test_the_link_in_the_mail_sets_a_new_password_and_ends_every_session(
    accounts: Any, ann: Any, sent: Any
) -> None:
    before = log_in(accounts, "the old one")
    ask(accounts)
    [(recipient, link)] = sent()
    assert recipient == "ann@example.com"
    assert reset(accounts, link) == "ann@example.com"
    assert refusal(accounts.authenticate, before.session_token) == "TOKEN_REVOKED"
    assert refusal(log_in, accounts, "the old one") == "INVALID_CREDENTIALS"
    assert log_in(accounts, "the new one")


def test_a_link_works_once(accounts: Any, ann: Any) -> None:
    link = made_link(accounts)
    reset(accounts, link)
    assert refusal(reset, accounts, link, "a third one") == "INVALID_LINK"
    assert log_in(accounts, "the new one")


def test_of_two_who_use_a_link_at_once_one_wins(
    accounts: Any, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, hashing = made_link(accounts), passwords.hash_password

    def first(password: str) -> str:
        monkeypatch.setattr(passwords, "hash_password", hashing)
        reset(accounts, link, "the first one")
        return hashing(password)

    monkeypatch.setattr(passwords, "hash_password", first)
    assert refusal(reset, accounts, link, "the second one") == "INVALID_LINK"
    assert log_in(accounts, "the first one")


def test_a_link_is_good_for_an_hour(accounts: Any, ann: Any) -> None:
    link = made_link(accounts)
    accounts.shift_clock(HOUR - 5)
    assert (
        accounts.call(password_changes.view_reset, accounts.config, ResetLink(**parts(link))).email
        == ann.email
    )
    accounts.shift_clock(HOUR + 5)
    assert refusal(reset, accounts, link) == "INVALID_LINK"
    accounts.call(password_changes.forget)


def test_a_newer_link_replaces_the_one_before(accounts: Any, ann: Any) -> None:
    old, new = made_link(accounts), made_link(accounts)
    assert refusal(reset, accounts, old) == "INVALID_LINK"
    assert reset(accounts, new)


def test_a_short_password_does_not_use_the_link_up(accounts: Any, ann: Any) -> None:
    link = made_link(accounts)
    assert refusal(reset, accounts, link, "short") == "VALIDATION_ERROR"
    assert reset(accounts, link)


@pytest.mark.parametrize("code", ["", "0" * 32, "é", "\ud800"])
def test_a_link_with_another_code_is_refused(accounts: Any, ann: Any, code: str) -> None:
    wrong = parts(made_link(accounts)) | {"code": code}
    request = ResetPassword(**wrong, password="the new one")
    assert (
        refusal(password_changes.reset_password, accounts.database, accounts.config, request)
        == "INVALID_LINK"
    )
    assert (
        refusal(accounts.call, password_changes.view_reset, accounts.config, ResetLink(**wrong))
        == "INVALID_LINK"
    )


def test_an_unknown_address_is_treated_as_a_known_one_but_gets_no_mail(
    accounts: Any, ann: Any, sent: Any
) -> None:
    ask(accounts, "nobody@example.com")
    ask(accounts)
    assert [recipient for recipient, _ in sent()] == ["ann@example.com"]
    for email in ("ann@example.com", "nobody@example.com"):
        for _ in range(4):
            ask(accounts, email)
        assert refusal(ask, accounts, email, "198.51.100.1") == "RATE_LIMITED"


def test_an_unverified_account_gets_no_link(accounts: Any, sent: Any) -> None:
    made = accounts.sign_up(Caller(account_id="", user_id=""))
    ask(accounts)
    assert [link for _, link in sent() if "/reset/" in link] == []
    assert refusal(made_link, accounts) == "EMAIL_NOT_VERIFIED"
    accounts.call(verification.verify_user, operator(), UserId(user_id=made.user.id))
    assert reset(accounts, made_link(accounts))


def test_only_the_operator_makes_links(accounts: Any, ann: Any) -> None:
    caller = accounts.authenticate(log_in(accounts, "the old one").session_token).caller
    request = MakeResetLink(email="ann@example.com")
    made = (password_changes.make_reset_link, accounts.config, caller, request)
    assert refusal(accounts.call, *made) == "MISSING_SCOPE"
    unknown = (
        password_changes.make_reset_link,
        accounts.config,
        operator(),
        MakeResetLink(email="no@example.com"),
    )
    assert refusal(accounts.call, *unknown) == "NOT_FOUND"


def test_a_reset_lets_an_owner_in_whose_address_was_locked_by_guesses(
    accounts: Any, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(passwords, "matches", lambda *_: False)
        for number in range(101):
            refusal(log_in, accounts, "guess", asker=f"198.51.{number}.0")
        assert refusal(log_in, accounts, "the old one") == "RATE_LIMITED"
    reset(accounts, made_link(accounts))
    assert log_in(accounts, "the new one")


def test_a_mail_that_was_not_taken_is_sent_again_later(accounts: Any, ann: Any, sent: Any) -> None:
    def delayed(*_: Any) -> None:
        raise mails.smtp.MailDelayed("away")

    ask(accounts)
    config = replace(accounts.config, smtp=SMTP)
    assert mails.send_next(accounts.database, config, delayed) == 0
    assert sent() == []
    accounts.call(lambda c: c.exec_driver_sql("UPDATE mails SET next_attempt_at = clock_timestamp()"))
    assert len(sent()) == 1


def test_without_a_mail_server_nothing_is_sent(accounts: Any, ann: Any) -> None:
    ask(accounts)
    assert mails.send_next(accounts.database, accounts.config) == 0


# -- with the current password -----------------------------------------------------------------------------------------


def test_changing_the_password_ends_every_other_session(accounts: Any, ann: Any) -> None:
    mine, other = log_in(accounts, "the old one"), log_in(accounts, "the old one")
    assert change(accounts, mine, "the old one", "the new one").ended_sessions == 1
    assert refusal(accounts.authenticate, other.session_token) == "TOKEN_REVOKED"
    assert accounts.authenticate(mine.session_token)
    assert log_in(accounts, "the new one")


def test_a_repeated_change_is_answered_as_the_first(accounts: Any, ann: Any) -> None:
    mine, _ = log_in(accounts, "the old one"), log_in(accounts, "the old one")
    first = change(accounts, mine, "the old one", "the new one", "op_1")
    assert change(accounts, mine, "the old one", "the new one", "op_1") == first


def test_a_stolen_session_has_twenty_guesses_at_the_current_password(accounts: Any, ann: Any) -> None:
    mine = log_in(accounts, "the old one")
    codes = [refusal(change, accounts, mine, "wrong", "the new one") for _ in range(21)]
    assert codes == ["VALIDATION_ERROR"] * 20 + ["RATE_LIMITED"]
    assert refusal(change, accounts, mine, "the old one", "short") == "VALIDATION_ERROR"
