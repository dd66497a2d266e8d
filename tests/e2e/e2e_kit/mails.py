"""Reads the mails that a stack has sent. Its mail server stores them in a folder."""

import re
from email.message import EmailMessage
from pathlib import Path

from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from local.servers import mail

#: Longest time for a mail: the loop that sends mails runs every 5 s, and other mails may come first.
_SECONDS = 30.0


def to(stack: Stack, address: str, subject: str = "") -> list[EmailMessage]:
    """Returns the mails to an address whose subject contains `subject`, newest first."""
    everything = mail.read(Path(stack.env["MAIL_FOLDER"]))
    return [one for one in everything if one["To"] == address and subject in one["Subject"]]


def await_mail(stack: Stack, address: str, subject: str = "") -> EmailMessage:
    """Waits for a mail to an address whose subject contains `subject`. Returns the newest one."""
    until(lambda: to(stack, address, subject), _SECONDS, f"a mail {subject!r} to {address}")
    return to(stack, address, subject)[0]


def await_url(stack: Stack, address: str, subject: str = "") -> str:
    """Waits for a mail as `await_mail` does. Returns the link in it, which leads to the dashboard."""
    link = mail.link_in(await_mail(stack, address, subject))
    assert link
    assert link.startswith(f"{stack.env['DASHBOARD_URL']}/"), link
    return link


def await_link(stack: Stack, address: str, subject: str = "") -> list[str]:
    """Waits for a mail as `await_mail` does. Returns the last two parts of the link in it, an id and a secret code."""
    return re.split("/", await_url(stack, address, subject))[-2:]
