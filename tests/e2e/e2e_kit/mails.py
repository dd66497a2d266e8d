"""The mails that a stack sent, which its mail server keeps in a folder."""

import re
from email.message import EmailMessage
from pathlib import Path

from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from local.servers import mail

#: A mail waits for the loop that sends it, at most 5 s, and for the other mails of the stack.
_SECONDS = 30.0


def to(stack: Stack, address: str, subject: str = "") -> list[EmailMessage]:
    """Returns the mails to an address whose subject contains this text, newest first."""
    everything = mail.read(Path(stack.env["MAIL_FOLDER"]))
    return [one for one in everything if one["To"] == address and subject in one["Subject"]]


def await_mail(stack: Stack, address: str, subject: str = "") -> EmailMessage:
    """Returns the newest mail to an address; waits until there is one."""
    until(lambda: to(stack, address, subject), _SECONDS, f"a mail {subject!r} to {address}")
    return to(stack, address, subject)[0]


def await_url(stack: Stack, address: str, subject: str = "") -> str:
    """Returns the link in the newest mail to an address, which leads to the dashboard."""
    link = mail.link_in(await_mail(stack, address, subject))
    assert link
    assert link.startswith(f"{stack.env['DASHBOARD_URL']}/"), link
    return link


def await_link(stack: Stack, address: str, subject: str = "") -> list[str]:
    """Returns the last two parts of the link in the newest mail to an address: an id and its code."""
    return re.split("/", await_url(stack, address, subject))[-2:]
