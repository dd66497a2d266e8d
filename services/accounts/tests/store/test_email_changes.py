"""Changing the e-mail address: the new mailbox and the password confirm it once, and the old address is notified."""

from typing import Any
from urllib.parse import urlsplit

import pyotp
import pytest
from msgspec.structs import replace

from accounts.config import SmtpConfig
from accounts.store.users import UserStore
from accounts.users import email_changes, mails, password_changes, passwords, sessions, totp
from chassis.db import clock
from contracts.accounts import (
    BeginTotp,
    ChangeEmail,
    ChangePassword,
    ConfirmEmailChange,
    ConfirmTotp,
    EmailChangeLink,
    LogIn,
    MakeResetLink,
    ResetPassword,
    UserId,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.record import Nothing

SMTP = SmtpConfig(
    host="mail.example", port=25, security="none", username="", password="", sender="p@example.com"
)
PASSWORD, OLD, NEW = "correct horse", "ann@example.com", "ann@example.org"
DAY = 86_400.0


@pytest.fixture
def ann(accounts: Any) -> Any:
    return accounts.create_user(operator(), password=PASSWORD).user


@pytest.fixture
def caller(accounts: Any, ann: Any) -> Caller:
    made: Caller = accounts.authenticate(log_in(accounts, OLD)).caller
    return made


def log_in(accounts: Any, email: str, password: str = PASSWORD) -> str:
    request = LogIn(email=email, password=password, asker="192.0.2.1")
    return sessions.log_in(accounts.database, accounts.config, request).session_token


def refusal(function: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value.code


def ask(
    accounts: Any,
    caller: Caller,
    email: str = NEW,
    *,
    password: str = PASSWORD,
    code: str | None = None,
    operation_id: str | None = None,
) -> Any:
    request = ChangeEmail(email=email, password=password, totp_code=code)
    caller = replace(caller, operation_id=operation_id)
    return email_changes.change_email(accounts.database, accounts.config, caller, request)


def sent(accounts: Any) -> dict[str, str]:
    """Sends the due mails. Returns their texts by recipient and subject."""
    taken: dict[str, str] = {}

    def take(_: SmtpConfig, mail: Any) -> None:
        taken[f"{mail['To']} {mail['Subject']}"] = mail.get_content()

    while mails.send_next(accounts.database, replace(accounts.config, smtp=SMTP), take):
        pass
    return taken


def link_in(mails: dict[str, str], to: str = NEW) -> str:
    [text] = [text for head, text in mails.items() if head.startswith(f"{to} Confirm this")]
    [link] = [line for line in text.splitlines() if line.startswith("http")]
    return link


def parts(link: str) -> dict[str, str]:
    _, auth, email, change_id, code = urlsplit(link).path.split("/")
    assert (auth, email) == ("auth", "email")
    return {"change_id": change_id, "code": code}


def confirm(accounts: Any, link: str, password: str = PASSWORD) -> str:
    request = ConfirmEmailChange(**parts(link), password=password)
    return email_changes.confirm_email_change(accounts.database, accounts.config, request).email


def asked(accounts: Any, caller: Caller, email: str = NEW) -> str:
    ask(accounts, caller, email)
    return link_in(sent(accounts), email)


def test_nothing_changes_before_the_new_address_is_confirmed_and_the_old_one_is_told(
    accounts: Any, ann: Any, caller: Caller
) -> None:
    brand = accounts.brand(ann)
    requested = ask(accounts, caller, " Ann@Example.ORG ")
    assert (requested.success, requested.email) == (True, NEW)
    first = sent(accounts)
    assert sorted(head.split()[0] for head in first) == [OLD, NEW]
    assert NEW not in next(text for head, text in first.items() if head.startswith(OLD))
    assert log_in(accounts, OLD)
    assert refusal(log_in, accounts, NEW) == "INVALID_CREDENTIALS"

    assert confirm(accounts, link_in(first)) == NEW
    assert log_in(accounts, NEW)
    assert refusal(log_in, accounts, OLD) == "INVALID_CREDENTIALS"
    assert [head.split()[0] for head in sent(accounts)] == [OLD]
    assert accounts.actions(brand) == ["email.changed"]
    assert {"token_ids": [], "account_ids": [ann.id]} in accounts.staged()


def test_sessions_go_on_with_the_new_address(accounts: Any, ann: Any) -> None:
    token = log_in(accounts, OLD)
    confirm(accounts, asked(accounts, accounts.authenticate(token).caller))
    assert accounts.authenticate(token).user.email == NEW


def test_a_link_works_once_and_for_a_day(accounts: Any, caller: Caller) -> None:
    link = asked(accounts, caller)
    accounts.shift_clock(DAY - 5)
    view = EmailChangeLink(**parts(link))
    assert accounts.call(email_changes.view_email_change, accounts.config, view).email == NEW
    accounts.shift_clock(DAY + 5)
    assert refusal(confirm, accounts, link) == "INVALID_LINK"
    accounts.shift_clock(0)
    confirm(accounts, link)
    assert refusal(confirm, accounts, link) == "INVALID_LINK"
    accounts.call(email_changes.forget)


def test_a_newer_request_replaces_the_one_before_and_its_unsent_mail(accounts: Any, caller: Caller) -> None:
    old = asked(accounts, caller)
    ask(accounts, caller, "other@example.org")
    ask(accounts, caller, "third@example.org")
    mails = sent(accounts)
    assert not any(head.startswith("other@") for head in mails)
    assert refusal(confirm, accounts, old) == "INVALID_LINK"
    assert confirm(accounts, link_in(mails, "third@example.org")) == "third@example.org"


def test_a_reader_of_the_mailbox_without_the_password_changes_nothing(accounts: Any, caller: Caller) -> None:
    link = asked(accounts, caller)
    assert refusal(confirm, accounts, link[:-1] + ("0" if link[-1] != "0" else "1")) == "INVALID_LINK"
    codes = [refusal(confirm, accounts, link, "guessed it") for _ in range(11)]
    assert codes == ["VALIDATION_ERROR"] * 10 + ["RATE_LIMITED"]
    assert refusal(confirm, accounts, link) == "RATE_LIMITED"
    assert log_in(accounts, OLD)


def test_a_reset_link_for_the_old_address_opens_no_account_that_gets_it_next(
    accounts: Any, caller: Caller
) -> None:
    made = accounts.call(
        password_changes.make_reset_link, accounts.config, operator(), MakeResetLink(email=OLD)
    )
    confirm(accounts, asked(accounts, caller))
    accounts.create_user(operator(), email=OLD, password="another password")
    *_, reset_id, code = urlsplit(made.link).path.split("/")
    request = ResetPassword(reset_id=reset_id, code=code, password="a third password")
    assert (
        refusal(password_changes.reset_password, accounts.database, accounts.config, request)
        == "INVALID_LINK"
    )
    assert log_in(accounts, OLD, "another password")


def test_a_new_password_ends_a_change_that_somebody_else_began(accounts: Any, caller: Caller) -> None:
    link = asked(accounts, caller)
    change = ChangePassword(current_password=PASSWORD, new_password="another one")
    password_changes.change_password(accounts.database, caller, change)
    assert refusal(confirm, accounts, link) == "VALIDATION_ERROR"


def test_a_password_that_changes_between_check_and_change_wins(
    accounts: Any, ann: Any, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, compare = asked(accounts, caller), passwords.matches

    def meanwhile(password_hash: str, password: str) -> bool:
        accounts.call(lambda connection: UserStore(connection).set_password(ann.id, "another hash"))
        return compare(password_hash, password)

    monkeypatch.setattr(passwords, "matches", meanwhile)
    assert refusal(confirm, accounts, link) == "INVALID_LINK"


def test_an_address_with_an_account_gets_the_same_answer_and_mail_and_is_refused_at_the_end(
    accounts: Any, caller: Caller
) -> None:
    taken = accounts.user().email
    free = ask(accounts, caller)
    texts = {head.replace(NEW, "X"): text.count("\n") for head, text in sent(accounts).items()}
    used = ask(accounts, caller, taken)
    mails = sent(accounts)
    assert {head.replace(taken, "X"): text.count("\n") for head, text in mails.items()} == texts
    assert (free.success, free.email, used.email) == (used.success, NEW, taken)
    assert refusal(confirm, accounts, link_in(mails, taken)) == "EMAIL_TAKEN"
    assert log_in(accounts, OLD)


def test_an_unverified_account_at_the_address_is_replaced(accounts: Any, caller: Caller) -> None:
    accounts.sign_up(operator(), email=NEW)
    confirm(accounts, asked(accounts, caller))
    assert accounts.authenticate(log_in(accounts, NEW)).user.id == caller.user_id


def test_a_wrong_password_or_the_same_address_is_refused_and_sends_nothing(
    accounts: Any, caller: Caller
) -> None:
    assert refusal(ask, accounts, caller, password="guessed it") == "VALIDATION_ERROR"
    assert refusal(ask, accounts, caller, "ANN@example.com") == "VALIDATION_ERROR"
    assert refusal(ask, accounts, caller, "no address") == "VALIDATION_ERROR"
    assert sent(accounts) == {}


def test_an_account_that_asks_for_codes_asks_for_one_here(accounts: Any, caller: Caller) -> None:
    begun = totp.begin_totp(accounts.database, accounts.config, caller, BeginTotp(password=PASSWORD))
    code = pyotp.TOTP(begun.secret).at(accounts.call(clock.now))
    made = totp.confirm_totp(accounts.database, accounts.config, caller, ConfirmTotp(totp_code=code))
    assert refusal(ask, accounts, caller) == "VALIDATION_ERROR"
    assert refusal(ask, accounts, caller, code="000000") == "VALIDATION_ERROR"
    assert ask(accounts, caller, code=made.recovery_codes[0]).success
    assert refusal(ask, accounts, caller, code=made.recovery_codes[0]) == "VALIDATION_ERROR"


def test_a_repeat_of_the_operation_sends_no_more_mails(accounts: Any, caller: Caller) -> None:
    first = ask(accounts, caller, operation_id="op_1")
    assert len(sent(accounts)) == 2
    assert ask(accounts, caller, operation_id="op_1") == first
    assert sent(accounts) == {}


def test_a_waiting_change_is_shown_and_cancelled_and_its_unsent_mail_with_it(
    accounts: Any, caller: Caller
) -> None:
    def waiting() -> Any:
        return accounts.call(email_changes.get_email_change, caller, Nothing()).waiting

    def cancel() -> bool:
        done: bool = accounts.call(email_changes.cancel_email_change, caller, Nothing()).success
        return done

    assert waiting() is None
    link = asked(accounts, caller)
    assert waiting().email == NEW
    assert cancel()
    assert waiting() is None
    assert refusal(confirm, accounts, link) == "INVALID_LINK"
    assert cancel(), "cancelling again changes nothing"
    ask(accounts, caller, "other@example.org")
    cancel()
    assert [head for head in sent(accounts) if head.startswith("other@")] == []
    ask(accounts, caller)
    accounts.shift_clock(DAY + 5)
    assert waiting() is None


def test_only_the_account_itself_sees_and_cancels_its_change(accounts: Any, caller: Caller) -> None:
    ask(accounts, caller)
    collaborator = replace(caller, user_id="usr_other")
    for function in (email_changes.get_email_change, email_changes.cancel_email_change):
        assert refusal(accounts.call, function, collaborator, Nothing()) != ""
    assert accounts.call(email_changes.get_email_change, caller, Nothing()).waiting.email == NEW


def test_requests_are_limited_per_account_and_per_address(accounts: Any, caller: Caller) -> None:
    for number in range(5):
        ask(accounts, caller, f"ann{number}@example.org")
    assert refusal(ask, accounts, caller, "ann5@example.org") == "RATE_LIMITED"
    for _ in range(5):
        other = accounts.create_user(operator(), email=f"{accounts.user().id}@x.example", password=PASSWORD)
        theirs = accounts.authenticate(log_in(accounts, other.user.email)).caller
        ask(accounts, theirs, "aim@example.org")
    last = accounts.create_user(operator(), email="last@x.example", password=PASSWORD)
    theirs = accounts.authenticate(log_in(accounts, last.user.email)).caller
    assert refusal(ask, accounts, theirs, "aim@example.org") == "RATE_LIMITED"


def test_the_operator_hands_the_link_over_where_no_mail_is_sent(accounts: Any, caller: Caller) -> None:
    named = UserId(user_id=caller.account_id)
    assert (
        refusal(accounts.call, email_changes.make_email_link, accounts.config, operator(), named)
        == "NOT_FOUND"
    )
    ask(accounts, caller)
    made = accounts.call(email_changes.make_email_link, accounts.config, operator(), named)
    assert (made.email, confirm(accounts, made.link)) == (NEW, NEW)
