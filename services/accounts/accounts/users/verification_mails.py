"""Writes the verification mails and sends the due ones.

Claim, send, delete: no transaction is open during the SMTP session, and the time of the next attempt is stored before
it. If the process dies in between, another one sends the mail: at worst a second mail with the same link arrives.
"""

from collections.abc import Callable
from email.message import EmailMessage
from email.utils import formatdate
from urllib.parse import urlsplit

import structlog

from accounts import derived_secrets
from accounts.config import AccountsConfig, SmtpConfig
from accounts.store.verification_mails import DueMail, VerificationMailStore
from accounts.users import smtp
from accounts.users.verification import UNVERIFIED_DAYS
from chassis.db.database import Database
from chassis.runtime.loops import Waker

log = structlog.get_logger()

#: Ends an attempt, however slow the mail server is. Our choice.
ATTEMPT_SECONDS = 45.0
#: Between the first attempt and the second; longer than one attempt.
_FIRST_WAIT_SECONDS = 60.0
#: Wakes the loop that runs `send_next`.
DUE = Waker()

_TEXT = """\
Somebody, probably you, signed up for an account at {host} with this e-mail address.

If it was you, confirm the address here. You will be asked for the password that you chose:

{link}

If it was not you, open the same address and delete the account, or do nothing: the account cannot be used and
is deleted after {days} days. {host} never asks you for a password by mail.
"""


def send_next(
    database: Database, config: AccountsConfig, send: Callable[[SmtpConfig, EmailMessage], None] = smtp.send
) -> int:
    """Sends the mail that has been due for longest. Returns 1 if the mail server accepted or permanently refused it."""
    if config.smtp is None:
        return 0  # mails stay queued until a mail server is configured; the operator may verify meanwhile
    with database.reading() as connection:
        mail = VerificationMailStore(connection).claim(_FIRST_WAIT_SECONDS)
    if mail is None:
        return 0
    try:
        send(config.smtp, message(config, config.smtp, mail))
    except smtp.MailRefused as error:
        log.error("verification_mail_refused", user_id=mail.user_id, status=error.status)
    except smtp.MailDelayed as error:
        log.warning(
            "verification_mail_delayed", user_id=mail.user_id, attempts=mail.attempts, reason=str(error)
        )
        return 0
    with database.reading() as connection:
        VerificationMailStore(connection).delete(mail.user_id)
    return 1


def message(config: AccountsConfig, server: SmtpConfig, mail: DueMail) -> EmailMessage:
    """Builds the mail. Contains nothing that the person who signed up chose, so that nobody can send spam with it."""
    host = urlsplit(config.public_url).hostname or ""
    code = derived_secrets.verification_code(config, mail.user_id)
    made = EmailMessage()
    made["From"] = server.sender
    made["To"] = mail.email
    made["Subject"] = f"Confirm your e-mail address for {host}"
    made["Date"] = formatdate()
    # The same for every attempt: mail clients show a duplicate once.
    made["Message-ID"] = f"<{mail.user_id}.verification@{host}>"
    made["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers
    link = f"{config.public_url}/auth/verify/{mail.user_id}/{code}"
    made.set_content(_TEXT.format(host=host, link=link, days=UNVERIFIED_DAYS))
    return made
