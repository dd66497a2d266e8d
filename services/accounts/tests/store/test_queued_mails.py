"""The queue of notification mails: each mail is sent at least once, or dropped when it is out of date."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from accounts.config import SmtpConfig
from accounts.users import mails, smtp
from contracts.events import Event

SMTP = SmtpConfig(
    host="mail.example", port=25, security="none", username="", password="", sender="Us <no-reply@posthaste.test>",
)  # fmt: skip
REFUSED: dict[str, Any] = {
    "userId": "usr_1", "brandId": "brd_1", "sessionId": "lnk_1", "platform": "TW",
    "error": {"code": "OTHER_BROWSER", "message": "It came back in another browser."},
}  # fmt: skip


class Post:
    """Stands for the mail server: accepts mails after it has raised the given errors."""

    def __init__(self, *problems: Exception) -> None:
        self.problems, self.mails = list(problems), list[Any]()

    def __call__(self, _: SmtpConfig, message: Any) -> None:
        if self.problems:
            raise self.problems.pop(0)
        self.mails.append(message)


@pytest.fixture
def with_mail(accounts: Any) -> Any:
    accounts.config = replace(accounts.config, smtp=SMTP, public_url="https://api.posthaste.test")
    return accounts


def refuse(accounts: Any, account_id: str) -> None:
    event = Event(
        id="evt_1", event="page.connect.refused", created_at=datetime.now(UTC), account_id=account_id,
        brand_id="brd_1", data=REFUSED,
    )  # fmt: skip
    accounts.call(mails.queue_connect_refused, event)


def send_next(accounts: Any, post: Post) -> int:
    return mails.send_next(accounts.database, accounts.config, post)


def test_the_owner_is_told_which_platform_it_was_and_nothing_that_others_wrote(with_mail: Any) -> None:
    owner = with_mail.user()
    refuse(with_mail, owner.id)
    post = Post()
    assert [send_next(with_mail, post) for _ in range(2)] == [1, 0]
    [mail] = post.mails
    assert (mail["To"], mail["Message-ID"]) == (owner.email, "<lnk_1.refused@api.posthaste.test>")
    assert "A login at X came back" in mail.get_content()
    assert REFUSED["error"]["message"] not in mail.get_content()


def test_the_same_event_again_while_the_mail_waits_queues_no_second_one(with_mail: Any) -> None:
    owner = with_mail.user()
    for _ in range(2):
        refuse(with_mail, owner.id)
    post = Post()
    assert [send_next(with_mail, post) for _ in range(2)] == [1, 0]


def test_an_event_of_an_account_that_is_gone_sends_nothing(with_mail: Any) -> None:
    refuse(with_mail, "usr_01J00000000000000000000000")
    assert send_next(with_mail, Post()) == 0


def test_a_mail_that_the_server_did_not_take_waits_and_is_sent_later_with_the_same_id(with_mail: Any) -> None:
    refuse(with_mail, with_mail.user().id)
    post = Post(smtp.MailDelayed("TimeoutError"))
    assert [send_next(with_mail, post) for _ in range(2)] == [0, 0]
    with_mail.call(lambda c: c.execute(text("UPDATE mails SET next_attempt_at = clock_timestamp()")))
    assert send_next(with_mail, post) == 1
    assert [mail["Message-ID"] for mail in post.mails] == ["<lnk_1.refused@api.posthaste.test>"]


def test_without_a_mail_server_a_mail_waits_for_a_week(with_mail: Any) -> None:
    refuse(with_mail, with_mail.user().id)
    with_mail.config = replace(with_mail.config, smtp=None)
    assert send_next(with_mail, Post()) == 0
    with_mail.shift_clock(7 * 86_400 + 1)
    with_mail.call(mails.forget)
    with_mail.shift_clock(0)
    with_mail.config = replace(with_mail.config, smtp=SMTP)
    assert send_next(with_mail, Post()) == 0
