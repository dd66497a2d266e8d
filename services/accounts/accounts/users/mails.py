"""Builds mails with the headers that all of them have, and makes one attempt to send one.

Nothing in a mail was chosen by the person who caused it, so that nobody can send texts of their own through us.
"""

from collections.abc import Callable
from email.message import EmailMessage
from email.utils import formatdate
from urllib.parse import urlsplit

import structlog

from accounts.config import AccountsConfig, SmtpConfig
from accounts.users import smtp

log = structlog.get_logger()

Send = Callable[[SmtpConfig, EmailMessage], None]

#: An attempt ends after this, however slow the mail server is, so that other mails are not held up.
ATTEMPT_SECONDS = 45.0
#: Wait between the first attempt and the second; longer than one attempt.
FIRST_WAIT_SECONDS = 60.0


def compose(
    config: AccountsConfig, server: SmtpConfig, *, to: str, subject: str, text: str, name: str
) -> EmailMessage:
    """Builds a mail.

    `{host}` in subject and text becomes our host name; `name` is the unique part of its Message-ID.
    """
    host = host_of(config)
    made = EmailMessage()
    made["From"] = server.sender
    made["To"] = to
    made["Subject"] = subject.format(host=host)
    made["Date"] = formatdate()
    # The same for every attempt: mail clients show a duplicate once.
    made["Message-ID"] = f"<{name}@{host}>"
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers
    made.set_content(text.format(host=host))
    return made


def host_of(config: AccountsConfig) -> str:
    return urlsplit(config.public_url).hostname or ""


def attempt(
    server: SmtpConfig, message: EmailMessage, send: Send, *, kind: str, attempts: int, of: str
) -> bool:
    """Tries to send a mail. Returns whether it is done with: the server accepted it, or refused it for good.

    `kind`, `attempts` and `of` (an id) are for the log, which never has an address.
    """
    try:
        send(server, message)
    except smtp.MailRefused as error:
        log.error(f"{kind}_mail_refused", of=of, status=error.status)
    except smtp.MailDelayed as error:
        log.warning(f"{kind}_mail_delayed", of=of, attempts=attempts, reason=str(error))
        return False
    return True
