"""`./dev mail`, which shows the mails that the stack's mail server keeps."""

import mailbox
import os
from email.message import EmailMessage
from pathlib import Path

import pytest

from local import cli
from local.processes.table import NotReady
from local.servers import mail


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cli, "RUN", tmp_path)
    return tmp_path


def keep(run: Path, subject: str, text: str, seconds: int) -> None:
    """Puts a mail with this time into the folder, as aiosmtpd does."""
    made = EmailMessage()
    made["To"], made["Subject"], made["Date"] = "ann@example.com", subject, "Thu, 26 Nov 2026 18:00:00 -0000"
    made.set_content(text)
    name = mailbox.Maildir(mail.folder(run)).add(made)
    os.utime(mail.folder(run) / "new" / name, (seconds, seconds))


def test_mails_are_listed_newest_first_and_each_is_shown_with_its_link(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(run, "Confirm", "Confirm here:\n\nhttps://a.test/auth/verify/usr_1/ab\n", 1)
    keep(run, "Wählen", f"Choose ä here:\n\nhttps://a.test/auth/reset/rst_1/{'c' * 90}\n", 2)
    assert cli.run_mail([]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert ("Wählen" in first, "Confirm" in second) == (True, True)
    assert cli.run_mail(["link"]) == cli.run_mail(["link", "2"]) == 0
    links = capsys.readouterr().out.splitlines()
    assert links == [f"https://a.test/auth/reset/rst_1/{'c' * 90}", "https://a.test/auth/verify/usr_1/ab"]
    assert cli.run_mail(["show"]) == 0
    assert "Choose ä here:" in capsys.readouterr().out


def test_before_the_first_mail_the_list_is_empty(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_mail([]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments", [["show"], ["show", "0"], ["link", "x"], ["delete"], ["show", "1", "2"]]
)
def test_what_is_not_there_or_no_command_is_refused(run: Path, arguments: list[str]) -> None:
    with pytest.raises(NotReady):
        cli.run_mail(arguments)
