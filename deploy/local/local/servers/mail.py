"""The mail server of the local stack: aiosmtpd stores the product's mails in a Maildir, where people and tests read
them.

No mail leaves the machine.
"""

import mailbox
import re
import sys
from email import message_from_binary_file, policy
from email.message import EmailMessage
from pathlib import Path
from typing import IO, Any

from local.processes.table import Process

_LINK = re.compile(r"https?://\S+")


def folder(run: Path) -> Path:
    return run / "mail"


def processes(run: Path, port: int) -> list[Process]:
    """Returns the row of the mail server in the process table."""
    argv = [sys.executable, "-m", "aiosmtpd", "--nosetuid", "--smtputf8", "--listen", f"127.0.0.1:{port}"]
    argv += ["--class", "aiosmtpd.handlers.Mailbox", str(folder(run))]
    return [Process("mail", argv, check=f"tcp:127.0.0.1:{port}")]


def read(folder: Path) -> list[EmailMessage]:
    """Returns the mails in the folder, newest first; an empty list if there is no folder yet."""
    if not folder.exists():
        return []
    box = mailbox.Maildir(folder, factory=_parse, create=False)  # type: ignore[arg-type]
    names = sorted(box.keys(), key=lambda name: (folder / "new" / name).stat().st_mtime_ns, reverse=True)
    return [box[name] for name in names]  # type: ignore[misc]


def link_in(mail: EmailMessage) -> str | None:
    """Returns the first URL in the text of a mail."""
    found = _LINK.search(mail.get_content())
    return found[0] if found else None


def _parse(file: IO[Any]) -> EmailMessage:
    return message_from_binary_file(file, policy=policy.default)
