"""The queue of verification mails: normally each is sent once, and none is ever lost."""

import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from accounts import derived_secrets
from accounts.config import SmtpConfig
from accounts.users import mails, smtp, verification
from chassis.migrate import migrations_of
from contracts.accounts import CreatedUser, UserId
from contracts.caller import Caller, operator
from contracts.errors import ApiError

STRANGER = Caller(account_id="", user_id="")
SMTP = SmtpConfig(
    host="mail.example", port=25, security="none", username="", password="", sender="Us <no-reply@posthaste.test>",
)  # fmt: skip


class Post:
    """Stands for the mail server: accepts mails, or raises the given error."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)
        self.mails: list[EmailMessage] = []

    def __call__(self, _: SmtpConfig, message: EmailMessage) -> None:
        if self.problems:
            raise self.problems.pop(0)
        self.mails.append(message)


@pytest.fixture
def with_mail(accounts: Any) -> Any:
    accounts.config = replace(accounts.config, smtp=SMTP, public_url="https://api.posthaste.test")
    return accounts


def send_next(accounts: Any, post: Callable[..., None]) -> int:
    return mails.send_next(accounts.database, accounts.config, post)


def bring_due(accounts: Any) -> None:
    accounts.call(lambda c: c.execute(text("UPDATE mails SET next_attempt_at = clock_timestamp()")))


def waits(accounts: Any) -> list[float]:
    """Returns, for each queued mail, the seconds until its next attempt."""
    query = text("SELECT extract(epoch FROM next_attempt_at - clock_timestamp()) FROM mails")
    return [float(seconds) for seconds in accounts.call(lambda c: c.execute(query).scalars().all())]


def test_a_sign_up_gets_one_mail_with_its_link(with_mail: Any) -> None:
    created = sign_up(with_mail)
    post = Post()
    assert [send_next(with_mail, post) for _ in range(2)] == [1, 0]
    [mail] = post.mails
    assert (mail["To"], mail["From"]) == ("ann@example.com", SMTP.sender)
    code = derived_secrets.verification_code(with_mail.config, created.user.id)
    assert f"https://api.posthaste.test/auth/verify/{created.user.id}/{code}\n" in mail.get_content()


def test_the_same_sign_up_again_sends_the_mail_again_within_the_limits_of_its_address(with_mail: Any) -> None:
    sign_up(with_mail)
    post = Post()
    send_next(with_mail, post)
    answers = []
    for _ in range(6):
        with pytest.raises(ApiError) as refused:
            sign_up(with_mail)
        answers.append(refused.value.code)
        send_next(with_mail, post)
    assert answers == ["EMAIL_TAKEN"] * 4 + ["RATE_LIMITED"] * 2
    assert len(post.mails) == 5
    assert len({mail["Message-ID"] for mail in post.mails}) == 1


def test_a_mail_that_still_waits_is_not_queued_twice_and_keeps_its_time(with_mail: Any) -> None:
    sign_up(with_mail)
    assert send_next(with_mail, Post(smtp.MailDelayed("busy"))) == 0
    [before] = waits(with_mail)
    with pytest.raises(ApiError):
        sign_up(with_mail)
    [after] = waits(with_mail)
    assert 0 < after <= before


@pytest.mark.parametrize("case", ["another password", "verified meanwhile"])
def test_a_sign_up_that_is_not_the_persons_own_sends_no_mail(with_mail: Any, case: str) -> None:
    created = sign_up(with_mail)
    send_next(with_mail, Post())
    if case == "verified meanwhile":
        with_mail.call(verification.verify_user, operator(), UserId(user_id=created.user.id))
    password = {"password": "another password"} if case == "another password" else {}
    with pytest.raises(ApiError) as refused:
        sign_up(with_mail, **password)
    assert refused.value.code == "EMAIL_TAKEN"
    assert waits(with_mail) == []


def test_nothing_in_the_mail_is_the_strangers_own_words(with_mail: Any) -> None:
    sign_up(with_mail, firstname="Buy at spam.example", lastname="Now", password="spam.example")
    post = Post()
    send_next(with_mail, post)
    assert "spam" not in post.mails[0].as_string()


def test_what_the_server_did_not_take_is_tried_again_after_ever_longer_waits(with_mail: Any) -> None:
    sign_up(with_mail)
    post = Post(*(smtp.MailDelayed("TimeoutError") for _ in range(8)))
    seen = []
    for _ in range(8):
        bring_due(with_mail)
        assert send_next(with_mail, post) == 0
        seen += waits(with_mail)
    assert [round(seconds / 60) for seconds in seen] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert send_next(with_mail, post) == 0
    bring_due(with_mail)
    assert send_next(with_mail, post) == 1
    assert len(post.mails) == 1


def test_a_process_that_dies_while_it_sends_leaves_the_mail_to_the_next_attempt(with_mail: Any) -> None:
    class Killed(BaseException):
        """Simulates the end of the process."""

    def die(*_: object) -> None:
        raise Killed

    sign_up(with_mail)
    with pytest.raises(Killed):
        send_next(with_mail, die)
    assert all(seconds > mails.ATTEMPT_SECONDS for seconds in waits(with_mail))
    bring_due(with_mail)
    post = Post()
    assert send_next(with_mail, post) == 1


def test_processes_that_look_at_the_same_moment_send_each_mail_once(with_mail: Any) -> None:
    for number in range(6):
        sign_up(with_mail, email=f"user{number}@example.com")
    post = Post()
    with ThreadPoolExecutor(6) as pool:
        sent = list(pool.map(lambda _: send_next(with_mail, post), range(12)))
    while send_next(with_mail, post):
        """Returns the mails that others had claimed at that moment."""
    assert sum(sent) <= 6
    assert len({mail["To"] for mail in post.mails}) == len(post.mails) == 6


def test_a_mailbox_that_does_not_exist_is_not_tried_again(with_mail: Any) -> None:
    sign_up(with_mail)
    assert send_next(with_mail, Post(smtp.MailRefused(550))) == 1
    assert waits(with_mail) == []


def test_one_that_cannot_be_sent_holds_up_no_other(with_mail: Any) -> None:
    sign_up(with_mail, email="first@example.com")
    sign_up(with_mail, email="second@example.com")
    post = Post(smtp.MailDelayed("TimeoutError"))
    send_next(with_mail, post)
    send_next(with_mail, post)
    assert [mail["To"] for mail in post.mails] == ["second@example.com"]


def test_without_a_mail_server_mails_wait_and_are_sent_once_there_is_one(accounts: Any) -> None:
    sign_up(accounts)
    post = Post()
    assert send_next(accounts, post) == 0
    accounts.config = replace(accounts.config, smtp=SMTP)
    assert send_next(accounts, post) == 1


def test_mails_that_wait_in_the_queues_of_releases_before_1_4_0_are_sent_after_the_migration(
    with_mail: Any,
) -> None:
    created, ann = sign_up(with_mail), with_mail.user()
    send_next(with_mail, Post())
    values = {"id": created.user.id, "email": ann.email}
    with_mail.call(
        lambda c: c.execute(
            text(
                "INSERT INTO verification_mails (user_id, next_attempt_at) VALUES (:id, 'infinity');"
                "INSERT INTO password_resets (email, id, expires_at, next_attempt_at)"
                " VALUES (:email, 'rst_1', clock_now() + interval '1 hour', 'infinity'),"
                " ('late@example.com', 'rst_2', clock_now(), 'infinity'),"
                " ('sent@example.com', 'rst_3', clock_now() + interval '1 hour', NULL)"
            ),
            values,
        )
    )
    migration = runpy.run_path(str(migrations_of("accounts") / "0017_waiting_mails.py"))
    for _ in range(2):  # the second time there is nothing to move
        with_mail.call(lambda c: c.execute(text(migration["MOVE"])))
    post = Post()
    assert [send_next(with_mail, post) for _ in range(3)] == [1, 1, 0]
    assert {mail["To"] for mail in post.mails} == {created.user.email, ann.email}


def test_the_operators_accounts_and_deleted_ones_get_no_mail(with_mail: Any) -> None:
    sign_up(with_mail)
    with_mail.create_user(operator())
    assert send_next(with_mail, Post()) == 0


def sign_up(accounts: Any, **values: Any) -> CreatedUser:
    created: CreatedUser = accounts.sign_up(STRANGER, **values)
    return created
